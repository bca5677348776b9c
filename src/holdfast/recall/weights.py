"""The few numbers of the ranking, all set by hand and rounded; bench/recall measures the worth of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """Weights of words beside meaning beside chat signals; a factor of 0.1 is ten per cent."""

    # Words
    k1: float = 0.6
    b: float = 0.5
    hint_weight: float = 3.0
    label_weight: float = 2.0  # tags and key
    request_word: float = 0.5  # "list", "summarise", "mention": for the assistant, seldom in the evidence
    speaker_term: float = 1.0
    date_term: float = 1.0
    # Term frequency that a short note borrows from the notes around it
    from_previous: float = 0.1
    from_question: float = 0.4  # more, when the previous note asks
    from_next: float = 0.2
    from_second_previous: float = 0.2
    from_second_next: float = 0.1
    # Fusion
    meaning: float = 1.2  # weight of the vectors beside 1.0 for words
    meaning_misled: float = 0.4  # where a name that many notes hold draws the question's vector to them
    conversation: float = 0.6  # share of the conversation's best note
    conversation_gathering: float = 0.2  # for a question that gathers from many conversations
    # Factors, which add up
    named_speaker: float = 0.1
    named_speaker_gathering: float = 0.3
    named_date: float = 0.3
    asks: float = 0.1
    answers: float = 0.1
    length: float = 0.1
    tells_time: float = 0.1
    tells_time_when_asked: float = 0.2
    standing: float = 0.2  # an instruction of the user's that holds from now on
    pinned: float = 0.1
    assistant: float = 0.5  # factor for notes of an assistant, unless the question is about them


DEFAULT = Constants()
