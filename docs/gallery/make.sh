#!/usr/bin/env bash
# Makes all pictures of docs/gallery.md. They are the same on every machine.
# The program is target/release/daelight unless DAELIGHT names another one.
set -euo pipefail
cd "$(dirname "$0")"
program=${DAELIGHT:-../../target/release/daelight}
if [ ! -x "$program" ]; then
  (cd ../.. && cargo build --release)
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Runs a command whose answer is not needed here. A run that ends at a singularity (status 3) is as good as any other.
make() {
  "$program" --quiet "$@" > "$folder/answer" 2> "$folder/errors" || {
    status=$?
    if [ "$status" -ne 3 ]; then
      echo "daelight $*: status $status" >&2
      cat "$folder/errors" >&2
      exit 1
    fi
  }
}

# The robotic arm up to its first singularity, over it, and on a path without any.
make solve robotic-arm --plot arm.svg
make solve robotic-arm --from -5.5 --to 2.2 --on-singularity continue --plot arm-singular.svg --plot-what singular-value
make solve robotic-arm --from -5.5 --to 2.2 --on-singularity continue --points 1001 --out "$folder/arm.csv" --json
cp "$folder/answer" "$folder/arm.json"
make plot "$folder/arm.csv" x3 --report "$folder/arm.json" --out arm-elbow.svg --size 840x240
make solve robotic-arm-safe-path --from -5 --to 5 --plot arm-safe.svg
make solve robotic-arm-safe-path --from -5 --to 5 --plot arm-safe-condition.svg --plot-what singular-value
make solve robotic-arm-torques --to 1.5 --plot arm-torques.svg
make solve robotic-arm --to 2.02 --on-singularity continue --plot arm-steps.svg --plot-what steps
make solve robotic-arm --to 1.5 --plot arm-residuals.svg --plot-what residuals

# What kind of DAE they are.
make analyze robotic-arm --plot arm-structure.svg
make analyze pendulum --plot pendulum-projectors.svg --plot-what projectors
make analyze andrews --plot andrews-structure.svg

# A pendulum in the phase plane, on a light and on a dark page.
make solve pendulum --points 2001 --out "$folder/pendulum.csv"
make plot "$folder/pendulum.csv" vy --against y --out pendulum-phase.svg
make plot "$folder/pendulum.csv" vx --against x --out pendulum-phase-dark.svg --dark

# Inverse dynamics: torques, the motion they cause, eigenvalues along the run.
make feedforward e1 --forward e1-forward --plot e1.svg
make feedforward e12 --forward e12-forward --plot e12.svg
make solve e12 --plot e12-states.svg
make solve e12 --plot e12-eigenvalues.svg --plot-what eigenvalues
make solve e1 --plot e1-steps.svg --plot-what steps --method radau

# Numbers of singular configurations over two lengths, with the exact curves between them, and the configurations.
make sweep andrews-constraints --over 'a[1]=0.001:0.1:100' --over 'a[2]=0.001:0.1:100' --measure singular-count:1 \
  --measure singular-count:2 --measure singular-count --out "$folder/andrews.csv" --plot andrews-map.svg
make sweep andrews-constraints --set 'b[1]=-0.06934+0.03*sqrt(2)' --over 'a[1]=0.001:0.1:60' --over 'a[2]=0.001:0.1:60' \
  --measure singular-count --out "$folder/annulus.csv" --plot andrews-annulus.svg
make sweep four-bar --locked 'q[1]' --over 'l[1]=0.02:0.8:80' --over 'l[4]=0.02:0.8:80' --measure singular-count \
  --out "$folder/four-bar.csv" --plot four-bar-map.svg
make singular andrews-constraints --set 'a[1]=0.03' --set 'a[2]=0.055' --plot andrews-configurations.svg

# Error against time, where the measurements are there.
if [ -f ../../bench/results/solve.csv ]; then
  make plot ../../bench/results/solve.csv --work-precision --out work-precision.svg
fi
