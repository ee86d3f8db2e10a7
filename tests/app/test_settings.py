"""How choices combine, and that impossible ones are refused."""

import pytest

from app.settings import Overrides, Preset, Sampling, Settings, resolve
from engine.errors import BadOption
from engine.options import GenerationOptions


def test_the_conversation_goes_before_the_application() -> None:
    settings = Settings(
        system_prompt="General.", sampling=Sampling(temperature=0.7, top_k=20), thinking=True
    )
    own = Overrides("", Sampling(temperature=0.0), thinking=False)
    assert resolve(settings, own).system_prompt == ""
    assert resolve(settings, own).options == GenerationOptions(
        temperature=0.0, top_k=20, thinking=False
    )
    assert resolve(settings, Overrides()).system_prompt == "General."
    assert resolve(settings, Overrides()).options.thinking is True


def test_nothing_chosen_is_the_models_own() -> None:
    assert resolve(Settings(), Overrides()).options == GenerationOptions()


def test_dots_show_what_differs() -> None:
    assert Overrides().differing() == frozenset()
    own = Overrides("", Sampling(top_p=0.9), thinking=False)
    assert own.differing() == {"system_prompt", "top_p", "thinking"}


@pytest.mark.parametrize(
    "settings",
    [
        Settings(sampling=Sampling(temperature=-1)),
        Settings(presets=(Preset("p", sampling=Sampling(top_p=7)),)),
    ],
)
def test_impossible_choices_are_refused(settings: Settings) -> None:
    with pytest.raises(BadOption):
        settings.check()
