"""The playground in a real browser, on a real server: a person's whole way from an empty bot to one that is right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from serve.running import Running, wait_for

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these it would look for its maker's servers.
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is not installed")
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=_QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("playground")
    with Running(str(folder / "bots.db"), folder / "log", model=True) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, server: Running) -> Iterator[Open]:
    """A page, wide or as a phone has it; whatever it complains of in its console is a failure."""
    pages: list[Page] = []
    complaints: list[str] = []

    def open_page(bot: str = "", expected: str = "", **context: Any) -> Page:
        page = browser.new_context(**context).new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda line: (
                complaints.append(line.text)
                if line.type == "error" and not (expected and expected in line.text)
                else None
            ),
        )
        page.goto(f"{server.address}/{f'#/{bot}' if bot else ''}")
        page.wait_for_selector("body[data-ready]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert complaints == []


def made(server: Running, name: str, *examples: tuple[str, str]) -> None:
    server.client.delete(f"/v1/bots/{name}")
    assert server.client.post("/v1/bots", json={"name": name}).status_code == 201
    body = {"examples": [{"intent": intent, "marked": text} for intent, text in examples]}
    if examples:
        assert server.client.post(f"/v1/bots/{name}/examples", json=body).status_code == 201


def stored(server: Running, name: str) -> list[tuple[str, str]]:
    listed = server.client.get(f"/v1/bots/{name}/examples").json()["examples"]
    return [(example["intent"], example["marked"]) for example in listed]


def unfolded(page: Page, intent: str) -> None:
    fold = page.locator(f"[data-intent='{intent}'] .fold")
    if fold.get_attribute("aria-expanded") != "true":
        fold.click()


TRAVEL = (
    ("fly", "fly to [Oslo](city)"),
    ("fly", "a flight to [Rome](city) please"),
    ("fly", "i want to fly to [Lisbon](city)"),
    ("greet", "hello there"),
    ("greet", "good morning"),
    ("greet", "hi"),
)


def test_from_an_empty_bot_to_a_corrected_parse_and_all_of_it_is_kept(opened: Open, server: Running):
    made(server, "story")
    page = opened("story")
    # Two intents and their first examples, typed.
    for intent, lines in (("fly", ["fly to Oslo", "a flight to Rome please"]), ("greet", ["hello there", "good day"])):
        page.locator("#new-intent-name").fill(intent)
        page.keyboard.press("Enter")
        field = page.get_by_label(f"New example of {intent}")
        for line in lines:
            expect(field).to_be_visible()
            field.fill(line)
            page.keyboard.press("Enter")
            section = page.locator(f"[data-intent='{intent}']")
            expect(section.locator("li.example", has_text=line)).to_be_visible()
    # A slot by mouse.
    row = page.locator("li.example", has_text="fly to Oslo")
    row.locator("[data-word='2']").click()
    page.locator("#slot-name").fill("city")
    page.keyboard.press("Enter")
    expect(row.locator(".slot[data-slot='city']")).to_contain_text("Oslo")
    # And one by keys.
    row = page.locator("li.example", has_text="a flight to Rome")
    row.locator("[data-annotator]").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator("#slot-name").fill("city")
    page.keyboard.press("Enter")
    expect(row.locator(".slot[data-slot='city']")).to_contain_text("Rome")
    annotated = [("fly", "fly to [Oslo](city)"), ("fly", "a flight to [Rome](city) please")]
    wait_for(lambda: stored(server, "story")[:2] == annotated)  # what is shown may be on its way still
    # What somebody says, as it is typed.
    page.locator("#sentence").press_sequentially("fly to Lisbon", delay=10)
    expect(page.locator("#bars li").first).to_have_attribute("data-intent-bar", "fly")
    expect(page.locator("#parsed .slot[data-slot='city']")).to_contain_text("Lisbon")
    expect(page.locator("#reasons")).to_contain_text("fly to Oslo")
    # Something else is said, and put right with a new intent: the parse changes at once.
    page.locator("#sentence").fill("hello can you pay the bill")
    expect(page.locator("#bars li").first).to_have_attribute("data-intent-bar", "greet")
    page.locator("#right-intent").fill("pay")
    page.keyboard.press("Enter")
    expect(page.locator("#parse-change [data-when='after']")).to_contain_text("pay")
    expect(page.locator("#bars li").first).to_have_attribute("data-intent-bar", "pay")
    # All of it is there after a reload.
    page.reload()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#sum")).to_contain_text("3 intents")
    expect(page.locator("#sum")).to_contain_text("5 examples")
    assert ("pay", "hello can you pay the bill") in stored(server, "story")


def test_undo_goes_back_a_version_and_the_past_can_be_looked_at(opened: Open, server: Running):
    made(server, "past", *TRAVEL)
    page = opened("past")
    unfolded(page, "greet")
    field = page.get_by_label("New example of greet")
    field.fill("what a nice day")
    page.keyboard.press("Enter")
    expect(page.locator("#sum")).to_contain_text("7 examples")
    page.locator("#undo").click()
    expect(page.locator("#sum")).to_contain_text("6 examples")
    page.locator("#open-versions").click()
    expect(page.locator("li[data-version]")).to_have_count(4)
    page.locator("li[data-version='3'] button", has_text="What it changed").click()
    expect(page.locator("li[data-version='3'] .difference")).to_contain_text("what a nice day")
    page.locator("[data-restore='3']").click()
    expect(page.locator("#sum")).to_contain_text("7 examples")
    assert server.client.get("/v1/bots/past").json()["version"] == 5


def test_many_lines_are_pasted_and_a_broken_one_is_shown_and_not_lost(opened: Open, server: Running):
    made(server, "paste", *TRAVEL)
    page = opened("paste")
    page.locator("#open-paste").click()
    page.locator("#paste-intent").fill("fly")
    page.locator("#paste-text").fill("off to [Kyiv](city)\nbring me [Bonn(city)\n\ntake me home")
    expect(page.locator("#paste-preview li[data-line] .error")).to_have_count(1)
    page.locator("#paste-add").click()
    expect(page.locator("#sum")).to_contain_text("8 examples")
    assert ("fly", "off to [Kyiv](city)") in stored(server, "paste")
    expect(page.locator("#paste-text")).to_have_value("bring me [Bonn(city)")


def test_files_come_in_and_go_out(opened: Open, server: Running, tmp_path: Path):
    made(server, "files", *TRAVEL)
    page = opened("files")
    file = tmp_path / "more.yml"
    file.write_text("nlu:\n- intent: pay\n  examples: |\n    - pay the [bill](thing)\n", encoding="utf-8")
    page.locator("#open-files").click()
    page.locator("#import-file").set_input_files(file)
    page.locator("#import-now").click()
    expect(page.locator("#sum")).to_contain_text("7 examples")
    with page.expect_download() as download:
        page.locator("[data-export='rasa-yaml']").click()
    exported = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "files.yml"
    assert "pay the [bill](thing)" in exported
    assert "fly to [Oslo](city)" in exported


def test_health_tells_what_is_odd_and_what_to_annotate_next(opened: Open, server: Running):
    made(server, "health", *TRAVEL, ("greet", "fly to Oslo"))
    page = opened("health")
    page.locator("#open-health").click()
    expect(page.locator("#accuracy")).to_contain_text("of")
    finding = page.locator("[data-finding]", has_text="the same text under").first
    expect(finding).to_be_visible()
    page.locator("#suggest-text").fill("could you book me a plane to Madrid\nhey you")
    page.locator("#suggest-now").click()
    expect(page.locator("li[data-suggestion]")).to_have_count(2)
    page.locator("li[data-suggestion]").first.focus()
    page.keyboard.press("a")
    expect(page.locator("#sum")).to_contain_text("8 examples")


def test_who_was_second_is_told_and_loses_nothing(opened: Open, server: Running):
    made(server, "second", *TRAVEL)
    page = opened("second", expected="409")
    unfolded(page, "greet")
    server.client.post("/v1/bots/second/examples", json={"examples": [{"intent": "fly", "text": "away"}]})
    page.get_by_label("New example of greet").fill("nice to meet you")
    page.keyboard.press("Enter")
    retry = page.locator(".toast.problem button", has_text="Retry")
    done = page.locator("li.example", has_text="nice to meet you")
    expect(retry.or_(done).first).to_be_visible()
    if retry.is_visible():
        retry.click()
    expect(done).to_be_visible()
    texts = [text for _, text in stored(server, "second")]
    assert {"away", "nice to meet you"} <= set(texts)


def test_a_phone_has_one_side_at_a_time(opened: Open, server: Running):
    made(server, "phone", *TRAVEL)
    page = opened("phone", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("#sentence")).to_be_hidden()
    page.locator("#tab-try").tap()
    page.locator("#sentence").fill("fly to Boston")
    expect(page.locator("#bars li").first).to_have_attribute("data-intent-bar", "fly")
    expect(page.locator("#parsed .slot[data-slot='city']")).to_contain_text("Boston")


def test_what_people_say_is_text_and_nothing_else(opened: Open, server: Running):
    evil = "<img src=x onerror=alert(1)> [<b>bold</b>](city)"
    made(server, "evil", *TRAVEL, ("fly", evil))
    page = opened("evil")
    unfolded(page, "fly")
    expect(page.locator("li.example", has_text="<b>bold</b>")).to_be_visible()
    page.locator("#sentence").fill("<script>document.title='gone'</script> fly to Oslo")
    expect(page.locator("#bars li").first).to_be_visible()
    assert page.locator("img, main script, b:text-is('bold')").count() == 0
    assert page.title() != "gone"


def test_in_the_dark_it_is_dark(opened: Open, server: Running):
    made(server, "dark", *TRAVEL)
    shades = {}
    for scheme in ("light", "dark"):
        page = opened("dark", color_scheme=scheme)
        shades[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = {scheme: sum(map(float, shade[4:-1].split(",")[:3])) for scheme, shade in shades.items()}
    assert brightness["light"] > 600
    assert brightness["dark"] < 200


def test_without_a_token_the_page_asks_for_one(browser: Browser, tmp_path: Path):
    with Running(str(tmp_path / "b.db"), tmp_path / "log", HANDFUL_AUTH_TOKEN="a long secret") as guarded:
        page = browser.new_context().new_page()
        page.goto(guarded.address)
        page.locator("#token-text").fill("a long secret")
        page.keyboard.press("Enter")
        expect(page.locator("#welcome-name")).to_be_visible()
        page.locator("#welcome-name").fill("mine")
        page.get_by_role("button", name="Start empty").click()
        expect(page.locator("#new-intent-name")).to_be_visible()
        page.context.close()
