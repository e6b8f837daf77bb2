"""Names the packages for setuptools; everything else about the distribution is in pyproject.toml.

`rewards/` and `training/` lie at top level and are imported as `spanreward.rewards` and
`spanreward.training`; `recipes/` and `accelerate_configs/` hold data alone. `package-dir` in
pyproject.toml says so. setuptools can find packages below such a folder only in code: its `find` in
pyproject.toml would name them `rewards.posh` and not `spanreward.rewards.posh`.
"""

from setuptools import find_packages, setup

FOLDERS = ["rewards", "training"]

packages = ["spanreward", "spanreward.recipes", "spanreward.accelerate_configs"]
for folder in FOLDERS:
    packages.append(f"spanreward.{folder}")
    for package in find_packages(folder):
        packages.append(f"spanreward.{folder}.{package}")

setup(packages=packages)
