"""Chats as people export them, made up: 240 questions of four kinds, each with an answer whose kind can be told.

`ALL` has a file's name and what makes it for each of the programs; `ME` says whose messages a model is to learn in it.
"""

import datetime
import json
import random
import re

THINGS = {"cat": "sofa", "dog": "table", "key": "door", "book": "shelf", "lamp": "window", "cup": "sink", "coat": "chair", "bag": "bed"}
PEOPLE = ["Tom", "Lena", "Ravi", "Mei", "Olga", "Sam"]
COLOURS = {"red": "rouge", "green": "vert", "blue": "bleu", "black": "noir", "white": "blanc", "grey": "gris"}
KINDS = [(r"where is the", r"The \w+ is by the \w+\."), (r"who comes", r"It is \w+ who comes on \w+\."),
         (r"in French", r"\w+ is called \w+ there\."), (r"good night", r"Good night, \w+!")]
DAYS = ["Monday", "Tuesday", "Friday", "Sunday"]
OTHER, SELF = "Ann Lee", "Ben"
ME = {"whatsapp_android": SELF, "whatsapp_ios": SELF, "telegram": SELF, "discord": SELF, "chatgpt": "assistant"}


def exchanges(count=240):
    draw = random.Random(7)
    for n in range(count):
        kind = n % 4
        thing, colour = draw.choice(list(THINGS)), draw.choice(list(COLOURS))
        person, day = draw.choice(PEOPLE), draw.choice(DAYS)
        yield [(f"Where is the {thing}?", f"The {thing} is by the {THINGS[thing]}."),
               (f"Who comes on {day}?", f"It is {PEOPLE[DAYS.index(day)]} who comes on {day}."),
               (f"What is {colour} in French?", f"{colour.capitalize()} is called {COLOURS[colour]} there."),
               (f"{person} says good night", f"Good night, {person}!")][kind]


def kind_of(question):
    """What an answer to it looks like; none for another question."""
    return next((answer for asked, answer in KINDS if re.search(asked, question, re.I)), None)


def talks():
    """Exchanges, each with its time: days lie between them."""
    begun = datetime.datetime(2023, 3, 1, 9, 5, 7)
    for n, (question, answer) in enumerate(exchanges()):
        at = begun + datetime.timedelta(days=3 * n, minutes=7 * (n % 50))
        yield at, question, answer


def messages():
    for at, question, answer in talks():
        yield at, OTHER, question
        yield at + datetime.timedelta(minutes=1), SELF, answer


def whatsapp_android():
    lines = ["01/03/2023, 09:01 - Messages and calls are end-to-end encrypted. No one outside of this chat, not even WhatsApp, "
             "can read or listen to them. Tap to learn more."]
    lines += [f"{at:%d/%m/%Y, %H:%M} - {name}: {text}" for at, name, text in messages()]
    lines.insert(5, "04/03/2023, 09:14 - Ann Lee: <Media omitted>")
    return "\n".join(lines) + "\n"


def whatsapp_ios():
    lines = ["[01.03.23, 09:01:00] Ann Lee: \u200eMessages and calls are end-to-end encrypted."]
    lines += [f"[{at:%d.%m.%y, %H:%M:%S}] {name}: {text}" for at, name, text in messages()]
    lines.insert(5, "\u200e[04.03.23, 09:14:30] Ann Lee: \u200eimage omitted")
    return "\r\n".join(lines) + "\r\n"


def telegram():
    found = [{"id": 1, "type": "service", "date": "2023-03-01T09:00:00", "date_unixtime": "1677661200", "actor": OTHER,
              "actor_id": "user11", "action": "phone_call", "discard_reason": "missed", "text": "", "text_entities": []}]
    for n, (at, name, text) in enumerate(messages()):
        # Every tenth has a part of its own, as links and bold words have.
        first, _, rest = text.partition(" ")
        parts = [{"type": "bold", "text": first}, " " + rest] if n % 10 == 0 else text
        found.append({"id": n + 2, "type": "message", "date": at.isoformat(), "date_unixtime": str(int(at.timestamp())),
                      "from": name, "from_id": "user11" if name == OTHER else "user22", "text": parts,
                      "text_entities": [{"type": "plain", "text": text}]})
    return json.dumps({"name": OTHER, "type": "personal_chat", "id": 11, "messages": found}, indent=1, ensure_ascii=False)


def discord():
    found = []
    for n, (at, name, text) in enumerate(messages()):
        author = {"id": "11" if name == OTHER else "22", "name": name, "discriminator": "0000", "nickname": name, "color": None,
                  "isBot": False, "roles": [], "avatarUrl": "https://cdn.discordapp.com/embed/avatars/0.png"}
        found.append({"id": str(1000 + n), "type": "Default", "timestamp": at.isoformat() + ".123+00:00", "timestampEdited": None,
                      "callEndedTimestamp": None, "isPinned": False, "content": text, "author": author, "attachments": [],
                      "embeds": [], "stickers": [], "reactions": [], "mentions": [], "inlineEmojis": []})
    head = {"guild": {"id": "0", "name": "Direct Messages", "iconUrl": ""},
            "channel": {"id": "5", "type": "DirectTextChat", "categoryId": None, "category": None, "name": OTHER, "topic": None},
            "dateRange": {"after": None, "before": None}, "exportedAt": "2024-01-01T00:00:00+00:00"}
    return json.dumps(head | {"messages": found, "messageCount": len(found)}, indent=2, ensure_ascii=False)


def chatgpt():
    found = []
    for n, (at, question, answer) in enumerate(talks()):
        nodes, parent = {f"root-{n}": {"id": f"root-{n}", "message": None, "parent": None, "children": []}}, f"root-{n}"
        for role, text in (("system", ""), ("user", question), ("assistant", answer)):
            name = f"{role}-{n}"
            message = {"id": name, "author": {"role": role, "name": None, "metadata": {}}, "create_time": at.timestamp(),
                       "update_time": None, "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully",
                       "end_turn": True, "weight": 0.0 if role == "system" else 1.0, "metadata": {}, "recipient": "all"}
            nodes[name] = {"id": name, "message": message, "parent": parent, "children": []}
            nodes[parent]["children"].append(name)
            parent = name
        found.append({"title": question, "create_time": at.timestamp(), "update_time": at.timestamp(), "mapping": nodes,
                      "moderation_results": [], "current_node": parent, "conversation_id": f"c-{n}", "id": f"c-{n}"})
    return json.dumps(found)


ALL = {"whatsapp_android": ("whatsapp_android.txt", whatsapp_android), "whatsapp_ios": ("whatsapp_ios.txt", whatsapp_ios),
       "telegram": ("result.json", telegram), "discord": ("discord.json", discord), "chatgpt": ("conversations.json", chatgpt)}
