#!/usr/bin/env bash
# Makes the pictures of the guides: what-is-an-index.md, tutorial.md, circuit.md, crane.md and linkage.md.
# Their models are read from these pages. The pictures of other solvers need Python with scipy.
# The program is target/release/daelight unless DAELIGHT names another one.
set -euo pipefail
cd "$(dirname "$0")"
program=$(realpath "${DAELIGHT:-../../../target/release/daelight}")
here=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Every model of a page becomes a file; a later version of a model replaces an earlier one.
for page in what-is-an-index tutorial circuit crane linkage; do
  awk -v folder="$folder" '
    /^```modelica/ { inside = 1; file = ""; next }
    /^```/ { inside = 0 }
    inside { if (file == "") { file = folder "/" tolower($2) ".mo"; printf "" > file } print > file }
  ' "../$page.md"
done
cd "$folder"

# A run that ends at a singularity (status 3) is as good as any other.
make() {
  "$program" --quiet "$@" > answer 2> errors || [ $? -eq 3 ] || { echo "daelight $*" >&2; cat errors >&2; exit 1; }
}

# What is an index?
make solve swing.mo --to 1.1 --plot "$here/swing.svg" --plot-what drawing
make solve swing.mo --to 3 --plot "$here/swing-residuals.svg" --plot-what residuals
make analyze pair.mo --plot "$here/pair.svg"
make solve quotient.mo --on-singularity continue --plot "$here/removable.svg"
for name in fold pole crossing; do
  make solve "$name.mo" --plot "$here/$name.svg"
done
if python3 -c 'import scipy' 2> /dev/null; then
  python3 "$here/../other_solvers.py" . > answer
  make plot rod-rk45.csv rod-bdf.csv rod-lsoda.csv length --labels RK45,BDF,LSODA --size 840x260 --out "$here/rod.svg"
  make solve robotic-arm --to 1.9 --on-singularity continue --points 401 --out arm.csv
  make plot arm.csv elbow-rk45-1e-06.csv x3 --labels 'daelight,scipy RK45' --size 840x260 --out "$here/elbow.svg"
fi

# The tutorials.
make solve plotter.mo --plot "$here/plotter.svg"
make solve plotter.mo --plot "$here/plotter-stills.svg" --plot-what drawing
make solve plotter.mo --set h=0 --on-singularity continue --plot "$here/plotter-through.svg" --plot-what drawing
make solve divider.mo --plot "$here/divider.svg"
make solve crane.mo --plot "$here/crane-stills.svg" --plot-what drawing
make solve crane.mo --out crane.csv --points 401
make plot crane.csv F W --size 840x300 --out "$here/crane.svg"
make singular wiper.mo --set c=0.5 --set d=0.9 --plot "$here/wiper.svg"
