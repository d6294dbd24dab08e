"""Sentences that show how large an encoder's states come: read once, when its graph is made. Of no data set."""

from __future__ import annotations

from handful.types import Words
from handful.words import split_words

_TEXTS = (
    "book a table for four at the Little Owl on friday night",
    "What's the weather like in Paris tomorrow morning?",
    "play some jazz by Miles Davis",
    "set an alarm for 6:30 am and another one ten minutes later",
    "remind me to call my mother when i get home",
    "How do I reset my password?",
    "i would like to fly from New York to San Francisco on the 3rd of May, back on the 12th, in the cheapest class",
    "add this song to my running playlist",
    "transfer $250 from checking to savings, please",
    "is there a pharmacy near me that is open now",
    "thanks, that's all",
    "turn off the lights in the kitchen",
    "which restaurants nearby serve vegan food",
    "show me flights with a stop in Denver after 5 pm",
    "My card was declined. Why?",
    "no",
    "hi there!",
    "stop",
    "party size",
    "departure date",
    "cancel subscription",
    "order status",
    "artist",
    "account number",
    "send an email to sarah.jones@example.com saying that I'll be late",
    "how long does it take to drive from the airport to Union Square with this traffic",
    "my order #48213-B never arrived and nobody answers the phone",
    "who won the match between Ghana and Uruguay",
    "rate this book five out of six stars",
    "find me a horror film from the 1980s that is shorter than two hours",
    "can i bring my dog to the hotel",
    "i want to speak to a human being",
    "what is 17 percent of 2,340",
    "is my flight BA0117 on time",
    "wake me up in 45 minutes",
    "do I need a visa to travel to Viet Nam",
    "un café con leche, por favor",
    "the app keeps crashing after the last update :(",
    "increase the temperature upstairs by two degrees until noon",
    "move my dentist appointment from thursday 2pm to the week after",
    "where is the closest gas station on the way to grandma's",
    "translate 'good night' into Japanese",
    "please don't charge me again, I have already paid twice",
    "cheap sushi downtown",
    "how much is a ticket",
    "mute",
    "create a shopping list with eggs, flour, baking soda and half a litre of milk",
    "Zzyzx Rd, exit 239",
)


def sample_sentences() -> list[Words]:
    return [tuple(word.text for word in split_words(text)) for text in _TEXTS]
