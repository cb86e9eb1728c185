"""Which folders are which packages: the one thing that pyproject.toml cannot find out by itself."""

from setuptools import find_packages, setup

FOLDERS = {
    "dpc": "dpc",
    "dpc.dsl": "dsl",
    "dpc.estimators": "estimators",
    "dpc.inference": "inference",
}

packages = list(FOLDERS)
for package, folder in FOLDERS.items():
    packages += [f"{package}.{inner}" for inner in find_packages(folder)]

setup(packages=packages, package_dir=FOLDERS)
