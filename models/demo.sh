#!/bin/sh
# What dpc does today, on the models of this folder. `make demo` runs it; it can be run from anywhere.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
mkdir -p out

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "$*"; "$@"; }

say "A model is a text file."
run cat models/hmm.dp

say "Everything about it is known before any array exists: its class, its structure, every shape."
run dpc info models/hmm.dp

say "A mistake is told where it is, what it is, and what to write instead."
sed -e 's/z\[t-1\]/z[t-2]/' -e 's/mu\[z\[t\]\], 1.0/mu[z[t]], -1.0/' models/hmm.dp > out/mistakes.dp
run dpc check out/mistakes.dp || true
run dpc explain E0304

say "Bayesian networks, random fields, stochastic programs and plain ones: one language."
run dpc check models

say "Pictures, without Graphviz."
for model in hierarchical hmm tagger ising asia gate; do
    run dpc graph "models/$model.dp" -o "out/$model.svg"
done
run dpc graph models/asia.dp -o out/asia.png

say "Questions: what is the disease, if the x-ray is clear and breath is short?"
run dpc query models/asia.dp --given dysp=yes,xray=no --ask lung,bronc,smoke --plot out/asia_marginals.svg
run dpc query models/networks/alarm.dp --given BP=LOW,HRBP=HIGH --logz --ask "CO == LOW and CATECHOL == HIGH"
run dpc query models/ising.dp --ask "s[0, 0],s[4, 4]"
run dpc plan models/networks/child.dp
run dpc convert models/networks/alarm.dp -o out/alarm.bif

say "Compiled to JAX: draws, values, derivatives."
run dpc sample models/asia.dp -n 4 --given smoke=yes
run dpc run models/root.dp --grad

say "A loss with coins in it: every draw has an estimator, and the choice can be seen and compared."
run dpc plan models/gate.dp
run dpc grad models/gate.dp
run dpc grad models/gate.dp --compare "rloo(samples=16),disarm(samples=16)" --plot out/estimators.svg
run dpc fit models/bandit.dp --rate 0.05 --plot out/bandit_curve.svg

say "Learned from data, by the method that suits; and what the parameters say about other data."
run dpc fit models/logistic.dp --data models/logistic.csv -o out/logistic.json
run dpc predict models/logistic.dp --fit out/logistic.json --set 'x=[[0, 2], [1.5, -1]]'

say "Data, a model, and what they tell about the unknown: draws, and whether to trust them."
run dpc posterior models/bayes/eight_schools_noncentered.dp --data models/bayes/eight_schools.json --plots out/posterior

say "And the program itself, as a person would have written it."
run dpc build models/tracking.dp -o out/tracking.py
run grep -A 16 "^def log_prob" out/tracking.py
echo
echo "Pictures and programs are in out/."
