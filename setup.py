"""Names the packages for setuptools, and gives README's links an address; everything else about the
distribution is in pyproject.toml.

`rewards/` and `training/` lie at top level and are imported as `spanreward.rewards` and
`spanreward.training`; `recipes/` and `accelerate_configs/` hold data alone. `package-dir` in
pyproject.toml says so. setuptools can find packages below such a folder only in code: its `find` in
pyproject.toml would name them `rewards.posh` and not `spanreward.rewards.posh`.

PyPI shows README beside no other file, so a relative link leads nowhere there. The repository's
address is not written anywhere in it. GitHub's runners have it in GITHUB_REPOSITORY ("owner/name"),
so a wheel that .github/workflows/publish.yaml builds has absolute links; without the variable they
stay as they are.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
FOLDERS = ["rewards", "training"]
HOST = "https://github.com"
PICTURES = "https://raw.githubusercontent.com"
IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
ACTIONS = "../../actions/"  # of the page on GitHub on which README is shown


def packages() -> list[str]:
    names = ["spanreward", "spanreward.recipes", "spanreward.accelerate_configs"]
    for folder in FOLDERS:
        names.append(f"spanreward.{folder}")
        for package in find_packages(folder):
            names.append(f"spanreward.{folder}.{package}")
    return names


def readme_for_pypi(text: str, repository: str, version: str) -> str:
    """Returns README with an address in place of each relative link and picture, of the files as
    the version's tag has them.
    """
    text = text.replace(ACTIONS, f"{HOST}/{repository}/actions/")
    text = IMAGE.sub(rf"![\1]({PICTURES}/{repository}/v{version}/\2)", text)
    return LINK.sub(rf"]({HOST}/{repository}/blob/v{version}/\1)", text)


def main() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    readme = (ROOT / "README.md").read_text("utf-8")
    repository = os.environ.get("GITHUB_REPOSITORY")
    urls = {}
    if repository:
        readme = readme_for_pypi(readme, repository, version)
        home = f"{HOST}/{repository}"
        urls = {
            "Source": home,
            "Issues": f"{home}/issues",
            "Documentation": f"{home}/blob/v{version}/docs/index.md",
            "Changelog": f"{home}/blob/v{version}/CHANGELOG.md",
        }
    setup(
        packages=packages(),
        long_description=readme,
        long_description_content_type="text/markdown",
        project_urls=urls,
    )


if __name__ == "__main__":
    main()
