"""How large a program may be. A hostile file is refused before it costs time or memory."""

MAX_SOURCE = 1_000_000
MAX_DEPTH = 100
MAX_CALLS = 2000
MAX_ERRORS = 50
MAX_DIM = 1_000_000_000
MAX_TABLE = 1_000_000
MAX_FILES = 200
