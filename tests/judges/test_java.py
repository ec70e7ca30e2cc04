"""The judge in Java finds what ours finds, and fails a wrong parser as its README shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from streamconform.apis import NAMES
from streamconform_dev.artifact import write_suite
from streamconform_dev.checkout import ROOT
from streamconform_dev.judges.check import check_answers
from streamconform_dev.judges.files import read_answers

from ..bundled_suite import cases
from ..optional_tools import MAVEN_REPOSITORY
from .answers import record_sample

pytestmark = [pytest.mark.java_judge, pytest.mark.slow]

SOURCE = ROOT / "harness/judges/java"
LINE_WIDTH = 120
LIBRARIES = ("jackson-databind", "jackson-core", "jackson-annotations", "snakeyaml")
README = (SOURCE / "README.md").read_text("utf-8")
EXAMPLE = re.search(r"<!-- file: (\S+) -->\n```java\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
DEPENDENCY = re.search(r"<!-- dependency -->\n```xml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
OUTPUT = re.search(r"<!-- output: (mvn test .*?) -->\n```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SETTINGS = """\
<settings>
  <localRepository>{local}</localRepository>
  <mirrors><mirror><id>debian</id><mirrorOf>*</mirrorOf><url>file://{folder}</url></mirror></mirrors>
</settings>
"""
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>mine</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    {dependency}
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter-engine</artifactId>
      <version>5.9.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>
    </plugins>
  </build>
</project>
"""
PARSER = """\
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

final class MyParser {
    record Message(String text, String reason) {}

    static Message parse(InputStream body) throws IOException {
        StringBuilder text = new StringBuilder();
        BufferedReader lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (!line.startsWith("data: {")) continue;
            JsonNode chunk = new ObjectMapper().readTree(line.substring(6));
            text.append(chunk.at("/choices/0/delta/content").asText(""));
        }
        return new Message(text.toString(), "stop");
    }
}
"""


class Maven:
    """Runs Maven with nothing but what Debian's packages have, and a local repository of its own."""

    def __init__(self, folder):
        self.repository = folder / "repository"
        self._settings = folder / "settings.xml"
        self._settings.write_text(SETTINGS.format(local=self.repository, folder=MAVEN_REPOSITORY))

    def run(self, folder, *arguments):
        # Debian's Surefire has a version of its own.
        command = ("mvn", "-B", "-q", "-s", self._settings, "-Dsurefire.version=2.22.3", *arguments)
        environment = {
            **os.environ,
            "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }  # less CPU time
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment
        )


@pytest.fixture(scope="module")
def maven(tmp_path_factory):
    return Maven(tmp_path_factory.mktemp("maven"))


@pytest.fixture(scope="module")
def built(maven, tmp_path_factory):
    """The judge, compiled without a warning and packed, after its own tests."""
    folder = tmp_path_factory.mktemp("java") / "judge"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("target"))
    ran = maven.run(folder, "package")
    assert ran.returncode == 0, ran.stdout
    return folder


@pytest.mark.parametrize("api", NAMES)
def test_it_finds_what_our_judge_finds(built, api):
    folder = record_sample()
    lines = read_answers(folder / f"answers-{api}.jsonl.gz")
    assert len(lines) > 100
    jars = [f"/usr/share/java/{name}.jar" for name in LIBRARIES]
    classes = ":".join([str(built / "target/classes"), str(built / "target/test-classes"), *jars])
    command = ("java", "-cp", classes, "io.github.streamconform.JudgeAnswers")
    assert check_answers(command, built, folder / f"suite-{api}.json.gz", lines) == []


def test_its_own_tests_ran(built):
    reports = [path.read_text() for path in (built / "target/surefire-reports").glob("*.txt")]
    assert sorted(len(re.findall(r"Failures: 0, Errors: 0, Skipped: 0", text)) for text in reports) == [
        1,
        1,
        1,
    ]


def test_no_line_is_too_long():
    lines = [
        f"{path.name}:{number}"
        for path in sorted(SOURCE.glob("src/**/*.java"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > LINE_WIDTH
    ]
    assert lines == []


def test_a_wrong_parser_fails_as_the_readme_shows(maven, built, tmp_path):
    installed = maven.repository / "io/github/streamconform/streamconform/0.1.0"
    installed.mkdir(parents=True)
    shutil.copy(built / "target/streamconform-0.1.0.jar", installed)
    shutil.copy(built / "pom.xml", installed / "streamconform-0.1.0.pom")
    (tmp_path / "pom.xml").write_text(PROJECT.format(dependency=DEPENDENCY))
    tests = tmp_path / "src/test/java"
    tests.mkdir(parents=True)
    (tests / EXAMPLE[1]).write_text(EXAMPLE[2])
    (tests / "MyParser.java").write_text(PARSER)
    case = next(case for case in cases() if case.id == "openai-chat/text/text-plain")
    write_suite("openai-chat", [case], tmp_path)
    ran = maven.run(tmp_path, *OUTPUT[1].split()[1:])
    assert ran.returncode == 1
    assert f"java.lang.AssertionError: \n{OUTPUT[2]}" in ran.stdout
    assert "Tests run: 2, Failures: 1, Errors: 0, Skipped: 0" in ran.stdout
