"""Closed word lists of the clause reader. A word that is in no list fills no slot, which keeps precision high."""

from __future__ import annotations

import re
from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def phrases(text: str) -> frozenset[str]:
    """The comma-separated parts of a text as a set."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def any_of(parts: frozenset[str]) -> re.Pattern[str]:
    """A pattern that finds any of the phrases as whole words, preferring the longest."""
    alternatives = "|".join(re.escape(part) for part in sorted(parts, key=lambda part: (-len(part), part)))
    return re.compile(rf"\b(?:{alternatives})\b")


MONTHS: Final = {
    name: number
    for number, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ],
        start=1,
    )
    for name in names.split()
}
WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        ["monday mon", "tuesday tue", "wednesday wed", "thursday thu", "friday fri", "saturday sat", "sunday sun"]
    )
    for name in names.split()
}
# Without the three-letter abbreviations.
CALENDAR: Final = frozenset(name for name in [*MONTHS, *WEEKDAYS] if len(name) > 3)

PRONOUNS: Final = words(
    "i we you he she they it me us him her them this that these those who which what someone anyone everyone nobody one ones "
    "somebody everybody something anything everything nothing none mine yours ours theirs myself yourself himself herself there"
)
POSSESSIVES: Final = words("my our his her their its your")
ARTICLES: Final = words("a an the this that these those some any")
PREPOSITIONS: Final = words(
    "at in on for with from to by of about into onto over under near behind beside between through during since until till "
    "before after as than like via per without within around across along off up down out next above below toward towards"
)
CONJUNCTIONS: Final = words(
    "and or but so because although though while whereas if when whenever unless whether then yet plus nor"
)
# Contains the pieces that `tokens` makes of contractions ("'m", "n't", "ca").
AUXILIARIES: Final = words(
    "am is are was were be been being has have had do does did will would could should might may must shall can ca wo "
    "'m 're 's 've 'll 'd n't not never cannot gonna gotta"
)
MODALS: Final = words("will would could should might may must shall can ca 'll 'd cannot gonna gotta")
# Words that may be skipped before a subject or a verb; besides adverbs also greetings and fillers.
ADVERBS: Final = words(
    "now currently just recently finally also still already really actually always usually only both absolutely officially "
    "definitely long ever nowadays presently lately permanently temporarily eventually originally previously formerly once again "
    "today sadly luckily fortunately unfortunately truly totally completely simply basically mostly mainly often sometimes "
    "generally kinda personally especially particularly quite pretty very so too much more even all apparently obviously happily "
    "quickly immediately soon later anymore instead correction yes no yeah yep nope oh ah ooh well ok okay hey hi hello thanks wow "
    "hmm anyway btw fyi lol haha sure great good guess please"
)
# Phrases that are cut off the end of a value: "tea these days" -> "tea".
TIME_TAILS: Final = phrases(
    "now, nowadays, these days, at the moment, at present, currently, anymore, any more, any longer, lately, again, today, instead, right now, "
    "so much, very much, a lot, too, as well, though, more, the most, most, full time, part time, full-time, part-time, tbh, lol, "
    "actually, either, already, recently, as of now, for now, since then, after all, by the way, still, haha, all the time, every day, "
    "permanently, to be honest, myself, instead now, now instead, here, there, then, next"
)
# Capitalised words that do not begin a name.
NAME_STOPS: Final = (
    PRONOUNS
    | POSSESSIVES
    | ARTICLES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | ADVERBS
    | words(
        "where why how whose whom each every most many few several other another such let does did maybe perhaps imagine suppose "
        "congrats congratulations happy sorry thank glad love nice cool awesome amazing sounds looks good great best first last "
        "left quit joined moved works lives worked lived today tomorrow yesterday tonight update news note fact correction meanwhile "
        "however therefore also besides same people dear cheers bye wait look see remember guess think hope speaking "
        "here there seems looks sounds feels everything tell don dont let's lets hope wishing"
    )
    | frozenset(CALENDAR - {"may", "april", "june", "august"})  # these four are given names too
)

KIN: Final = words(
    "family mother father mom mum dad mama papa parents parent sister brother sibling son daughter child kid baby wife husband spouse partner "
    "girlfriend boyfriend fiance fiancé fiancée fiancee ex aunt uncle cousin niece nephew grandmother grandfather grandma grandpa "
    "grandson granddaughter stepmother stepfather stepson stepdaughter stepsister stepbrother mother-in-law father-in-law brother-in-law "
    "sister-in-law son-in-law daughter-in-law friend best-friend bestie roommate flatmate housemate neighbour neighbor boss manager "
    "colleague coworker co-worker teacher tutor mentor landlord therapist doctor dentist coach assistant client twin godson goddaughter"
)
# Of whom a person usually has one, so that "my wife" is a usable subject.
UNIQUE_KIN: Final = words(
    "family mother father mom mum dad mama papa wife husband spouse partner girlfriend boyfriend fiance fiancé fiancée fiancee boss manager "
    "landlord mother-in-law father-in-law twin"
)
# Of whom a person usually has several: "my friend" may be somebody else every time.
MANY_KIN: Final = words(
    "friend best-friend colleague coworker co-worker cousin neighbour neighbor client teacher niece nephew aunt uncle child kid roommate "
    "flatmate housemate assistant tutor coach ex godson goddaughter"
)
FEMALE_KIN: Final = words(
    "mother mom mum mama sister daughter wife girlfriend fiancée fiancee aunt niece grandmother grandma granddaughter stepmother "
    "stepdaughter stepsister mother-in-law sister-in-law daughter-in-law goddaughter"
)
MALE_KIN: Final = words(
    "father dad papa brother son husband boyfriend uncle nephew grandfather grandpa grandson stepfather stepson stepbrother "
    "father-in-law brother-in-law son-in-law godson"
)
CHILDREN: Final = words("son sons daughter daughters kid kids child children baby babies twin twins toddler toddlers")
SIBLINGS: Final = words("brother brothers sister sisters sibling siblings cousin cousins niece nieces nephew nephews")
PETS: Final = words(
    "cat cats kitty kitten kittens dog dogs puppy puppies pup pups hamster hamsters rabbit rabbits bunny bunnies parrot parrots bird birds "
    "fish goldfish turtle turtles tortoise snake snakes lizard gecko guinea-pig guinea horse horses pony chicken chickens pet pets "
    "ferret budgie canary hedgehog"
)
# Nouns that count as a possession after "has" or "bought"; "has a point" is none.
POSSESSIONS: Final = words(
    "car cars truck van motorcycle motorbike scooter bike bicycle boat house houses apartment flat condo cabin cottage farm laptop phone iphone "
    "tablet ipad computer camera guitar piano violin keyboard drone console playstation xbox tesla honda toyota ford bmw volvo audi "
    "telescope tent kayak surfboard skateboard business bakery restaurant shop store studio company startup sedan suv jeep"
)
EVENT_NOUNS: Final = words(
    "meeting call flight train bus appointment party wedding launch release exam test interview conference concert dinner lunch breakfast "
    "standup stand-up sync review demo workshop class lesson course webinar ceremony graduation show game match race marathon trip visit "
    "hearing deadline session event gig recital festival surgery operation checkup check-up delivery kickoff kick-off offsite retro "
    "retrospective presentation talk lecture seminar sprint election debate reunion picnic barbecue rehearsal tournament exhibition auction"
)
# Things that have a status ("ticket 42 is closed").
WORK_ITEMS: Final = words(
    "ticket issue order invoice project task pr mr bug build deployment release contract proposal request case claim feature branch "
    "server service site website api database pipeline job migration incident shipment package parcel delivery payment refund subscription "
    "account booking reservation application offer store shop office door account repo repository epic story milestone sprint flight "
    "plan campaign store lawsuit audit merger deal loan permit licence license course survey election system app backend frontend cluster queue "
    "printer elevator lift network router position vacancy role room event meeting bill policy"
)
# Nouns that form a name with a number or a proper name: "order 12", "Pro plan".
ITEM_HEADS: Final = WORK_ITEMS | words(
    "number room gate flight version chapter step phase team plan item sku bus route line unit lot desk table"
)

# Statuses after "is".
STATUS_WORDS: Final = phrases(
    "open, closed, resolved, unresolved, reopened, done, pending, finished, complete, completed, in progress, in review, under review, "
    "on hold, on track, off track, at risk, blocked, unblocked, delayed, late, overdue, cancelled, canceled, postponed, shipped, "
    "delivered, in transit, paid, unpaid, refunded, live, down, up, offline, online, back online, green, red, amber, active, inactive, "
    "available, unavailable, out of stock, in stock, sold out, back in stock, ready, approved, rejected, accepted, declined, draft, "
    "deprecated, archived, merged, broken, fixed, working, running, stopped, paused, suspended, enabled, disabled, signed, expired, "
    "fully booked, full, waiting, in production, in staging, in development, in testing, in beta, launched, released, deployed, failed, "
    "failing, passing, flaky, verified, unverified, confirmed, unconfirmed, assigned, unassigned, backordered, processing, dispatched, "
    "renewed, terminated, vacant, occupied, locked, unlocked, scheduled, planned, stalled, abandoned, wip, todo, operational, frozen, "
    "healthy, degraded, settled, dismissed, granted, denied, out for delivery, won, lost, escalated, triaged, obsolete, retired, "
    "under construction, back on track, up and running, under maintenance, in force, void, billed, invoiced, filled, empty, in maintenance"
)
STATUS_VERBS: Final = {  # past form -> the status that results
    "closed": "closed", "resolved": "resolved", "reopened": "open", "opened": "open", "finished": "finished", "completed": "completed",
    "cancelled": "cancelled", "canceled": "cancelled", "paused": "paused", "suspended": "suspended", "shipped": "shipped",
    "delivered": "delivered", "paid": "paid", "merged": "merged", "deployed": "deployed", "released": "released", "launched": "launched",
    "fixed": "fixed", "approved": "approved", "rejected": "rejected", "archived": "archived", "deprecated": "deprecated",
    "postponed": "postponed", "delayed": "delayed", "blocked": "blocked", "unblocked": "unblocked", "signed": "signed",
    "terminated": "terminated", "renewed": "renewed", "refunded": "refunded", "resumed": "active", "stopped": "stopped",
    "disabled": "disabled", "enabled": "enabled", "abandoned": "abandoned", "expired": "expired", "failed": "failed", "accepted": "accepted",
    "declined": "declined", "restarted": "running", "reactivated": "active", "deactivated": "inactive", "confirmed": "confirmed",
    "locked": "locked", "unlocked": "unlocked", "escalated": "escalated", "dispatched": "dispatched", "ended": "ended",
    "settled": "settled", "won": "won", "dropped": "dropped", "shelved": "shelved", "killed": "cancelled", "retired": "retired", "dismissed": "dismissed",
}  # fmt: skip

PROFESSIONS: Final = words(
    "engineer developer programmer nurse doctor teacher lawyer attorney manager designer architect artist writer author journalist editor "
    "chef cook baker barista waiter waitress accountant analyst consultant scientist researcher professor lecturer student intern "
    "electrician plumber carpenter mechanic pilot driver farmer photographer musician singer actor actress dancer director producer "
    "salesperson cashier receptionist secretary assistant administrator librarian pharmacist dentist surgeon vet veterinarian therapist "
    "psychologist psychiatrist counselor counsellor coach trainer translator interpreter police policeman officer firefighter soldier "
    "paramedic judge economist banker broker trader realtor entrepreneur founder ceo cto cfo coo vp president chairman lead head "
    "supervisor technician operator clerk tutor principal physicist chemist biologist mathematician statistician astronaut tailor "
    "hairdresser barber florist gardener janitor bartender butcher fisherman plumber illustrator animator sculptor painter composer "
    "conductor curator freelancer contractor postdoc apprentice bookkeeper auditor recruiter marketer copywriter strategist planner "
    "dietitian nutritionist physiotherapist midwife optometrist radiologist cardiologist neurologist geologist archaeologist "
    "anthropologist historian philosopher linguist sociologist statistician actuary underwriter paralegal notary diplomat ambassador "
    "senator mayor councillor politician streamer youtuber blogger influencer stylist welder machinist miner roofer surveyor "
    "sre devops tester maintainer partner associate"
)
DIETS: Final = words(
    "vegetarian vegan pescatarian keto gluten-free flexitarian halal kosher lactose-intolerant carnivore omnivore"
)
RELATIONSHIPS: Final = words("single married divorced engaged widowed separated")
LANGUAGES: Final = words(
    "english french german spanish portuguese italian dutch polish russian ukrainian czech greek turkish arabic hebrew persian farsi hindi "
    "urdu bengali tamil telugu punjabi gujarati marathi chinese mandarin cantonese japanese korean vietnamese thai indonesian malay "
    "swahili swedish norwegian danish finnish hungarian romanian bulgarian serbian croatian catalan basque welsh irish latin esperanto "
    "tagalog amharic yoruba zulu afrikaans"
)
# The kind of a preference or tool. Values replace each other only within one kind: coffee replaces tea, not vim.
CATEGORIES: Final = {
    member: name
    for name, members in {
        "drink": "tea, coffee, espresso, latte, cappuccino, green tea, black tea, herbal tea, matcha, water, sparkling water, juice, "
        "orange juice, wine, red wine, white wine, beer, cider, soda, cola, coke, pepsi, milk, oat milk, almond milk, soy milk, hot chocolate, "
        "chai, decaf, lemonade, kombucha, whisky, whiskey, gin, rum, americano, flat white",
        "editor": "vim, neovim, emacs, vs code, vscode, pycharm, intellij, sublime, sublime text, cursor, zed, atom, nano, helix, notepad++, xcode",
        "programming_language": "python, java, javascript, typescript, rust, go, golang, c, c++, c#, ruby, php, kotlin, swift, scala, haskell, elixir, perl, julia",
        "os": "linux, windows, macos, mac os, ubuntu, debian, fedora, arch, arch linux, windows 11, windows 10, mac",
        "phone": "iphone, android, pixel, samsung, galaxy, an iphone, an android",
        "database": "postgres, postgresql, mysql, sqlite, mongodb, redis, oracle, mariadb, duckdb, cassandra, dynamodb, sql server",
        "browser": "chrome, firefox, safari, edge, brave, opera, vivaldi",
        "chat": "slack, discord, teams, microsoft teams, zoom, google meet, whatsapp, signal, telegram, skype, messenger",
        "notes": "notion, obsidian, evernote, onenote, roam, apple notes, google keep, logseq, bear",
        "music_service": "spotify, apple music, youtube music, tidal, deezer, amazon music",
        "cloud": "aws, gcp, azure, google cloud, digitalocean, hetzner, heroku",
        "framework": "react, vue, angular, svelte, django, flask, fastapi, rails, spring, next.js, nuxt",
        "theme": "dark mode, light mode, dark theme, light theme",
        "meat": "beef, pork, chicken, lamb, turkey, fish, seafood",
        "seat": "window seat, aisle seat, middle seat, window seats, aisle seats",
        "email_client": "gmail, outlook, thunderbird, protonmail, fastmail, hey",
        "transport": "train, bus, car, bike, plane, trains, buses, cars, planes, flying, driving, cycling, walking, the train, the bus",
        "music": "jazz, rock, pop, classical, classical music, hip hop, hip-hop, metal, techno, country, country music, blues, folk, rap, reggae, opera",
        "search": "google, bing, duckduckgo, kagi",
        "vcs": "github, gitlab, bitbucket",
        "tracker": "jira, linear, asana, trello, monday",
        "season": "summer, winter, spring, autumn, fall",
        "pet_kind": "cats, dogs",
        "book_form": "ebooks, paper books, audiobooks, e-books, paperbacks, hardcovers, physical books, kindle",
        "contact": "email, emails, phone calls, calls, texts, text messages, texting, video calls, phone, letters, voice messages",
        "time_of_day": "mornings, evenings, afternoons, nights, morning, evening, morning meetings, afternoon meetings",
    }.items()
    for member in phrases(members)
}  # fmt: skip
KINDS: Final = frozenset(CATEGORIES.values())
DEPARTMENTS: Final = words(
    "accounting marketing sales engineering hr finance support legal operations product design it"
)
# What one joins without being employed there.
CLUBS: Final = words(
    "club gym team church choir society group class discord reddit netflix facebook instagram twitter linkedin tiktok zoom slack league "
    "band orchestra toastmasters guild association community network union forum committee board army navy meetup party course call chat"
)
# Names that are not places: one may "move to Kubernetes".
TOOLS: Final = words(
    "kubernetes docker terraform kafka graphql grpc salesforce hubspot zendesk confluence figma sketch excel sheets office gitops "
    "jenkins circleci webpack vite poetry conda airflow snowflake databricks spark hadoop elasticsearch kibana grafana prometheus "
    "datadog nginx apache wordpress shopify stripe twilio okta linux unix agile scrum kanban cloud ios android openai claude chatgpt "
    "gemini copilot mars"
)
# "joined Alice", "works for Bob": a lone given name is not taken as an employer.
FIRST_NAMES: Final = words(
    "alice bob carol dave eve anna tom tim sam max ben dan joe john jane mary mike michael david sarah laura emma olivia james robert "
    "linda susan karen lisa nancy betty helen sandra donna ruth sharon michelle emily amy melissa deborah stephanie rebecca "
    "jennifer patricia elizabeth barbara jessica kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas eric "
    "jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander patrick jack dennis jerry tyler aaron jose "
    "adam nathan henry peter paul mark luke matt chris kim lee kate katie maria marta sofia sophie julia nina lena eva ella mia leo "
    "noah liam lucas oliver ethan daniel william thomas andrew anthony steven joseph charles richard ravi priya raj amit wei li ming "
    "ahmed omar fatima yusuf hiroshi yuki kenji ivan olga dmitri pierre marie luca giulia carlos juan pablo diego ana luis miguel beth "
    "rachel hannah grace chloe zoe ian alan alex andy greg jim bill ted fred harry charlie tony steve jeff nick rick rob ron ray pat"
)
# "works at night", "works for now".
NON_WORKPLACES: Final = words(
    "home night nights noon midnight once least moment scratch heart peace odds work hand risk first last noon"
)
# Countries and other regions that contain cities; "lives in Spain" does not contradict "lives in Madrid".
COUNTRIES: Final = phrases(
    "afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh, belarus, belgium, bolivia, bosnia, brazil, "
    "bulgaria, cambodia, cameroon, canada, chile, china, colombia, costa rica, croatia, cuba, cyprus, czechia, czech republic, denmark, "
    "dominican republic, ecuador, egypt, england, estonia, ethiopia, finland, france, georgia, germany, ghana, greece, guatemala, honduras, "
    "hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya, kosovo, kuwait, laos, "
    "latvia, lebanon, libya, lithuania, madagascar, malaysia, mexico, moldova, mongolia, morocco, mozambique, myanmar, namibia, nepal, "
    "netherlands, the netherlands, new zealand, nicaragua, nigeria, north macedonia, northern ireland, norway, oman, pakistan, panama, "
    "paraguay, peru, philippines, the philippines, poland, portugal, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, "
    "slovakia, slovenia, somalia, south africa, south korea, korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, "
    "thailand, tunisia, turkey, uganda, ukraine, united arab emirates, the uae, uae, united kingdom, the uk, uk, the us, us, usa, the usa, "
    "the united states, united states, america, uruguay, venezuela, vietnam, wales, yemen, zambia, zimbabwe, europe, asia, africa, "
    "south america, north america, alabama, alaska, arizona, arkansas, california, colorado, connecticut, florida, hawaii, idaho, illinois, "
    "indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana, "
    "nebraska, nevada, new hampshire, new jersey, new mexico, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, "
    "rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia, west virginia, wisconsin, wyoming, bavaria, "
    "catalonia, ontario, quebec, british columbia, the bay area, the midwest, scandinavia, "
    "日本, 中国, 한국"
)
# Objects of "love" and "hate" that refer to something in the conversation, not to a lasting taste.
FEELING_OBJECTS_STOP: Final = words(
    "you it that this them these those your how what when where why to the-idea hearing seeing him her us me everything everyone "
    "all both our my his their its being having working getting one"
)
# Words that signal a change; some of them make an update more certain (`umi._evolution.rules`).
CHANGE_CUES: Final = phrases(
    "now, no longer, anymore, any more, any longer, instead, actually, correction, used to, these days, nowadays, since then, from now on, as of, "
    "rather than, turns out, i meant, not anymore, until recently, switched, moved, left, changed, quit, sold, stopped, cancelled, "
    "canceled, broke up, updated, update, replaced, no more, new, just, recently, finally, since, currently, formerly, previously, "
    "raised, lowered, increased, dropped, rescheduled, postponed, pushed, relocated, joined, became, turned, promoted, renamed, upgraded, "
    "reopened, again, back"
)
# Words that signal an addition beside what held before.
ADDITIVE_CUES: Final = phrases(
    "also, too, as well, another, second, in addition, besides, part-time, part time, on the side, additionally, both, side job, side gig"
)
# Words that mark a sentence or clause as imagined, fictional or uncertain.
UNREAL: Final = phrases(
    "imagine, suppose, supposing, pretend, what if, if only, as if, for example, for instance, e.g., hypothetically, let's say, dreamed, "
    "dreamt, a dream, in the story, in the movie, in the book, in the film, in the game, in the novel, in the show, in my dream, once upon a time, "
    "wish, rumour, rumor, allegedly, supposedly, maybe, perhaps, probably, possibly, might, kidding, joking, almost, nearly, would, could"
)
# Verbs whose object clause is what somebody says, thinks or intends, not a fact.
REPORTING: Final = words(
    "said says say told tell tells heard hear hears think thinks thought believe believes guess guesses suppose hope hopes hoped wonder "
    "wonders asked ask asks claims claimed claim wish wishes assume assumes assumed suspect suspects doubt doubts dreamed dreamt imagine "
    "imagined want wants wanted plan plans planned planning consider considering considered "
    "pretend suggested suggests suggest promised promises expects expect expected reckon bet figured read seems seemed mentioned feel felt feels"
)
