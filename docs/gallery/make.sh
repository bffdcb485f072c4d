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

# Runs a command whose answer is not needed here. A run that ends at a singularity (status 3) is as good as any other, and so
# are constant steps that keep hidden constraints up to their own error only (status 4).
make() {
  "$program" --quiet "$@" > "$folder/answer" 2> "$folder/errors" || {
    status=$?
    if [ "$status" -ne 3 ] && [ "$status" -ne 4 ]; then
      echo "daelight $*: status $status" >&2
      cat "$folder/errors" >&2
      exit 1
    fi
  }
}

# The robotic arm up to its first singularity, over it, and on a path without any.
make solve robotic-arm --plot arm.svg
make solve robotic-arm --from -5.5 --to 2.2 --on-singularity continue --plot arm-singular.svg --plot-what singular-value
make solve robotic-arm --from -5.5 --to 2.2 --on-singularity continue --points 4001 --out "$folder/arm.csv" --json
cp "$folder/answer" "$folder/arm.json"
make plot "$folder/arm.csv" x3 --report "$folder/arm.json" --out arm-elbow.svg --size 840x240
make plot "$folder/arm.csv" x2 x5 x8 --log --from 1.2 --report "$folder/arm.json" --out arm-pole.svg --size 840x320
make solve robotic-arm --from -5.5 --to 2.2 --on-singularity continue --plot arm-loci.svg --plot-what loci
# Between its poles the solution has three branches.
for range in "before -6 -5.5" "between -5.57 2.2" "after 2.035 2.3"; do
  read -r name from to <<< "$range"
  make solve robotic-arm --from "$from" --to "$to" --on-singularity continue --points 2001 --out "$folder/$name.csv" --json
  cp "$folder/answer" "$folder/$name.json"
done
make plot "$folder"/{before,between,after}.csv sigma_min --log --out arm-branches.svg --size 840x300 \
  --labels 'up to -5.578,up to 2.0297,up to 2.2197' --report "$folder/before.json" --report "$folder/between.json" \
  --report "$folder/after.json"
make solve robotic-arm --to 2 --on-singularity continue --plot arm-stills.svg --plot-what drawing
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

# What most pendulums do whose lengths are known up to 5 %.
make sweep pendulum --over L=0.95:1.05 --over g=9.7:9.9 --random 400 --bands x,y --plot pendulum-bands.svg

# Inverse dynamics: torques, the motion they cause, eigenvalues along the run.
make feedforward e1 --forward e1-forward --plot e1.svg
make feedforward e12 --forward e12-forward --plot e12.svg
make solve e12 --plot e12-states.svg
make solve e12 --plot e12-eigenvalues.svg --plot-what eigenvalues
make solve e1 --plot e1-steps.svg --plot-what steps --method radau

# A stiff circuit: the model of the guide to `solve`.
sed -n '/^model Oscillator/,/^end Oscillator/p' ../guide/solve.md > "$folder/oscillator.mo"
make solve "$folder/oscillator.mo" --plot oscillator-steps.svg --plot-what steps

# Methods with constant steps beside the exact forces, and what the arm does with them.
make solve e1 --points 401 --out "$folder/exact.csv"
make solve e1 --method bdf-fixed --order 1 --step 0.01 --form dummy --scale 1 --out "$folder/ten.csv"
make solve e1 --method bdf-fixed --order 1 --step 0.001 --form dummy --scale 1 --out "$folder/one.csv"
make plot "$folder"/{exact,ten,one}.csv x1 x2 x3 x4 u --labels 'exact,Euler with 10 ms,Euler with 1 ms' --out e1-methods.svg
make plot "$folder"/{exact,ten,one}.csv x1 x2 u --difference --log --labels 'exact,Euler with 10 ms,Euler with 1 ms' \
  --out e1-errors.svg
tool=('cos(x1) + cos(x1 + x2)' 'sin(x1) + sin(x1 + x2)')
make plot "$folder"/{exact,ten,one}.csv "${tool[@]}" --labels 'exact,Euler with 10 ms,Euler with 1 ms' --out e1-tool.svg
make plot "$folder"/{exact,ten,one}.csv "${tool[@]}" --labels 'exact,Euler with 10 ms,Euler with 1 ms' --from 0.06 \
  --out e1-tool-end.svg
for name in exact ten one; do
  make solve e1-forward --input "u=$folder/$name.csv" --points 401 --out "$folder/driven-$name.csv"
done
make plot "$folder"/driven-{exact,ten,one}.csv x z --labels 'exact torque,of Euler with 10 ms,of Euler with 1 ms' \
  --out e1-driven.svg
make plot "$folder"/driven-{exact,ten,one}.csv x z --labels 'exact torque,of Euler with 10 ms,of Euler with 1 ms' \
  --from 0.06 --out e1-driven-end.svg
make solve e1 --plot e1-stills.svg --plot-what drawing
make solve e1-complete --points 401 --out "$folder/complete.csv"
make solve e1 --set l2=0.5 --set k=1e5 --set d=500 --set J12=81.25 --set J22=56.25 --set 'z0=1.5*sqrt(0.5)' --points 401 \
  --out "$folder/simple.csv"
make plot "$folder"/{complete,simple}.csv x1 x2 x3 x4 --labels 'full dynamics,constant inertia' --out e1-complete.svg
make plot "$folder"/{complete,simple}.csv x1 x2 --difference --labels 'full dynamics,constant inertia' --out e1-simplified.svg
make plot "$folder"/{complete,simple}.csv 'cos(x1) + 0.5*cos(x1 + x2)' 'sin(x1) + 0.5*sin(x1 + x2)' \
  --labels 'full dynamics,constant inertia' --out e1-complete-tool.svg
make solve e12 --plot e12-stills.svg --plot-what drawing
make solve e12 --points 601 --out "$folder/e12.csv"
make solve e12 --method bdf-fixed --order 6 --step 0.001 --out "$folder/e12-one.csv"
make solve e12 --method bdf-fixed --order 6 --step 0.005 --out "$folder/e12-five.csv"
make plot "$folder"/{e12,e12-one,e12-five}.csv u1 u2 --labels 'exact,BDF 6 with 1 ms,BDF 6 with 5 ms' --out e12-torques.svg
for name in e12 e12-one e12-five; do
  make solve e12-forward --input "u1=$folder/$name.csv" --input "u2=$folder/$name.csv" --points 601 \
    --out "$folder/driven-$name.csv"
done
make plot "$folder"/driven-{e12,e12-one,e12-five}.csv x z --difference --log --out e12-driven.svg \
  --labels 'exact torques,of BDF 6 with 1 ms,of BDF 6 with 5 ms'
make solve e12 --set 'j[3]=1.5' --method bdf-fixed --order 1 --step 0.003 --out "$folder/unstable.csv"
make plot "$folder/unstable.csv" u1 u2 --out e12-unstable.svg --size 840x280
make solve delta-robot --plot delta-stills.svg --plot-what drawing
make solve pendulum --to 1.1 --plot pendulum-stills.svg --plot-what drawing --dark

# Numbers of singular configurations over two lengths, with the exact curves between them, and the configurations.
make sweep andrews-constraints --over 'a[1]=0.0005:0.1:200' --over 'a[2]=0.0005:0.1:200' --measure singular-count:1 \
  --measure singular-count:2 --measure singular-count --out "$folder/andrews.csv" --plot andrews-map.svg
make sweep andrews-constraints --set 'b[1]=-0.06934+0.03*sqrt(2)' --over 'a[1]=0.0005:0.1:200' --over 'a[2]=0.0005:0.1:200' \
  --measure singular-count:3 --measure singular-count --out "$folder/annulus.csv" --plot andrews-annulus.svg
make sweep four-bar --locked 'q[1]' --over 'l[1]=0.002:0.8:134' --over 'l[4]=0.002:0.8:134' --measure singular-count \
  --out "$folder/four-bar.csv" --plot four-bar-map.svg --dark
make singular andrews-constraints --set 'a[1]=0.03' --set 'a[2]=0.055' --plot andrews-configurations.svg

# Error against time, where the measurements are there.
if [ -f ../../bench/results/solve.csv ]; then
  make plot ../../bench/results/solve.csv --work-precision --out work-precision.svg
fi
