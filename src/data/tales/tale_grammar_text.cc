// The built-in tales, in the notation of tale_grammar.h: first the shapes, then the words. Wherever
// a rule has a choice, its alternatives begin with plain text, and none begins as another, so that
// a reader always knows which was taken (tales.h says why that matters; a test holds it).
#include "data/tales/tale_grammar.h"

namespace snug::data::tales {
namespace {

constexpr std::string_view kShapes = R"(
@tale
<hero=name> and the <look=look> <thing=thing> \n
<start>, in <a item_house> <beside>, lived <a temper> <kind=kind> called [hero]. <habits>
<treasure> \n
<when> <plot> \n
<closing> \n\n

@start
4*Once upon a time / 3*Long ago / 2*Not long ago / Before clocks / When the moon was younger /
A hundred winters ago / Last <month>

@item_house
<look> <house>

@item
<look> <thing>

@someone
<temper> <kind>

@meal
<flavour> <dish>

@habit
<did> the <plural>

@habits
3*Every <part_of_day> [hero.he] <habit> and <habit>. /
2*On <one=weekday>s [hero.he] <habit>, on <two=weekday>s [hero.he] <habit>. /
Nobody <did> so many <plural>. / If it rained, [hero.he] <habit>; if not, [hero.he] <habit>.

@treasure
2*Best of all [hero.he] loved [hero.his] [look] [thing], <origin>. /
2*By the <furniture> stood [a look] [thing], <origin>. /
Under the bed lay [a look] [thing], <origin>. /
Nothing was dearer than the [look] [thing], <origin>.

@origin
a gift from <a temper> <relation> / won from <a someone> at cards / found one <season> under
<a item> / older than the <scenery> / once the pride of <a temper> <owner> / swapped for some
<meal> / fished from the <water>

@when
3*One <weather> <daypart>, / 2*Late one <season> <daypart>, / Then, on the <ordinal> of <month>, /
It was <a weather> <weekday> when

@scene
The <mood> <nature> <moved> the <mood> <scenery>.

@plot
3*nothing was in its place: <lost> / 2*somebody knocked. <stranger> /
2*a storm came over the <scenery>. <storm> / 2*the post brought a letter. <letter> /
2*there was a crash: <broken> / 2*an odd noise rose from the <dark_place>. <noise> /
2*up the lane came <friend=name> the <fkind=kind>, with a cart of <plural>. <trade> /
2*everybody met for the great <contest> contest. <race> / a star fell into the <water>. <wish>

@lost
the [thing] was gone! [hero] looked <p=place>, <q=place> and <r=place>, but found only <a item>.
"<sigh>," <said> [hero]. <scene> <soon> <friend=name> the <fkind=kind> came <passing>. "<offer>,"
<said> [friend]. There, <hidden>, lay the [thing], as [look] as ever. [hero] <joy>, and gave
[friend] <a item>.

@stranger
On the step stood <a temper> <fkind=kind> with <a item>. "I am <friend=name>," <said> the
stranger, "and <plea>." [hero] <welcomed>. They ate <meal> by the <furniture>. <scene> By <dawn>
[friend] was gone, but the [look] [thing] <improved>, and beside it lay <a item>.

@storm
It <howled> the <plural> and <howled_too> the <plural>. "My [thing]!" <said> [hero], for it was
<outside>. [hero] put on <a item> and ran <running>. <scene> There stood <friend=name> the
<fkind=kind>, holding it fast. "<modest>," <said> [friend]. They ate <meal> and <meal> until the
wind <wind_end>.

@letter
"Dear [hero]," it said in <colour> ink, "<request>. Yours, <friend=name> the <fkind=kind>." [hero]
packed <meal>, <a item> and the [look] [thing], and walked for <number> <unit>. <scene> [friend]
<waited>. "<thanks>," <said> [friend]. <soon> <together>.

@broken
the [look] [thing] lay in <number> pieces. [hero] tried <glue> and <more=glue> and <a item>, but
nothing held. "<sigh>," <said> [hero]. <soon> <friend=name> the <fkind=kind> came <passing>.
"<advice>," <said> [friend]. They worked until <until>. <scene> It was never so [look] again, but
<better>.

@noise
It went <sound>, then <sound_too>. <scene> [hero] held the [look] [thing] tight and crept
<creeping>. "<challenge>" <said> [hero]. Out came <friend=name> the <fkind=kind>, who <excuse>.
They <laughed> over <meal> until <until>.

@trade
"<number_of> <plural> and <a item> for your [thing]," <said> [friend]. [hero] <choice>

@choice
3*shook [hero.his] head. "<no_sale>," <said> [hero]. <scene> [friend] <respect>, and stayed for
<meal>. / 2*nodded. <scene> But the house was <too>, and [hero] ran after the cart. "<no_sale>,"
<said> [hero]. [friend] <respect>, and gave the [look] [thing] back.

@race
<friend=name> the <fkind=kind> brought <a item> and <a item>, [hero] only the [look] [thing].
"<scorn>," <said> [friend]. <scene> But when <mishap>, the [thing] <saved>. [hero] won <number>
<plural>, and <shared>.

@wish
[hero] fished it out with the [look] [thing] and fed it <meal>. <scene> "One wish," <said> the
star. [hero] thought of <dream>, of <a item>, of <number> <plural>, and wished for <humble>.
"<star_said>," <said> the star, and <rose>.

@closing
3*And so every [kind] <beside> keeps [a look] [thing] by the <furniture>. /
3*The moral: <virtue> is <better_than> than <worth>. /
2*As <plural> know, <virtue> is <better_than> than <worth>. /
2*From then on [hero] <habit> and was never <sorry>. /
Somewhere <beside>, [hero] is <doing> still. / Is it true? Ask the [look] [thing].
)";

constexpr std::string_view kWords = R"(
@house
cottage / windmill / lighthouse / barn / boathouse / tower / teapot / bakery / tent / greenhouse /
clock shop / wagon / stable / inn / schoolhouse / palace / attic / burrow / hut / observatory

@beside
3*by the sea / 2*by a slow river / 2*at the edge of the wood / on a green hill / near the mill /
beyond the marsh / behind the chapel / between two ponds / at the end of the lane /
in the middle of a meadow / above the harbour / below a waterfall

@temper
shy / brave / curious / careful / cheerful / clumsy / drowsy / patient / proud / quiet / stubborn /
tidy / young / old / polite / hungry / thoughtful / merry / gentle / forgetful / impatient /
anxious / lonely / wise / absent-minded / elegant / grumpy / jolly / modest / nervous / restless /
sly / talkative / untidy / vain / weary

@kind
badger / bear / beaver / crow / donkey / duck / fox / frog / goat / goose / hare / hedgehog /
heron / mole / mouse / otter / owl / rabbit / raven / sparrow / squirrel / toad / tortoise /
weasel / wren / snail / cricket / elephant / bat / dormouse / eel / gull / ibis / jackdaw / lizard /
magpie / newt / pony / robin / swan / vole / walrus

@name
Pip / Tobias / Oskar / Barnaby / Hugo / Felix / Emil / Anton / Jasper / Rufus / Ludo / Casper /
Milo / Theo / Bruno / Wilbur / Ned / Finn / Quentin / Konrad / Gustav / Leopold / Simon / Valentin /
Ada~f / Clara~f / Dora~f / Elsa~f / Flora~f / Greta~f / Hazel~f / Ida~f / Juno~f / Lotte~f /
Mabel~f / Nell~f / Olive~f / Poppy~f / Rosa~f / Tilda~f / Ursula~f / Vera~f / Wanda~f / Yvette~f /
Beatrix~f / Florence~f / Zelda~f / Sabine~f

@look
silver / golden / rusty / little / crooked / blue / red / green / wooden / painted / tiny / heavy /
striped / shiny / dusty / round / velvet / copper / ivory / enormous / ancient / ordinary /
yellow / unlucky / borrowed / cracked / empty / folded / hollow / iron / knotted / lopsided /
mossy / noisy / orange / pale / quilted / ragged / square / tangled / upside-down / woolly

@thing
key / lantern / kettle / bell / drum / spoon / button / compass / umbrella / ladder / violin /
basket / clock / kite / map / mirror / whistle / teacup / hat / bucket / candle / box / marble /
needle / ribbon / scarf / trumpet / acorn / anchor / walking stick / fishing rod / jug / oar /
pebble / quill / rope / saddle / shoe / telescope / thimble / inkpot / wheel / pillow / egg

@did
counted / scolded / painted / washed / dusted / sorted / admired / fed / chased / sketched /
praised / tickled / polished / weighed / named / hid / measured / teased / rescued / visited /
juggled / greeted / brushed / ironed

@plural
apples / beetles / bees / carrots / ducks / eggs / feathers / geese / hats / icicles / jars /
kettles / lemons / mittens / moths / nettles / onions / pebbles / pigeons / plates / puddles /
radishes / roses / shadows / snails / socks / spiders / teapots / turnips / violets / weathercocks /
windows

@flavour
honey / plum / pea / onion / ginger / apple / cheese / nettle / pumpkin / walnut / lemon / turnip /
acorn / mushroom / cherry / barley

@dish
soup / cake / pie / jam / bread / biscuits / pudding / stew / dumplings / porridge / toast / tart

@part_of_day
2*morning / 2*evening / noon / night / afternoon

@weekday
Monday / Tuesday / Wednesday / Thursday / Friday / Saturday / Sunday

@furniture
stove / window / fireplace / door / bookcase / bathtub / piano / cupboard

@relation
uncle / aunt / godmother / cousin / neighbour / schoolmaster / postman / grandfather

@owner
king / pirate / duchess / astronomer / cook / captain / emperor / organist / highwayman / queen

@season
spring / summer / autumn / winter

@water
pond / well / rain barrel / harbour / soup / river

@weather
windy / foggy / frosty / rainy / golden / stormy / snowy / icy / warm / grey / misty / bright

@daypart
morning / afternoon / evening / night

@ordinal
first / second / third / tenth / twelfth / last day but one

@month
January / February / March / April / May / June / July / August / September / October /
November / December

@mood
silent / frozen / sleepy / silvery / endless / crooked / hungry / lonely / moonlit / muddy /
patient / purple / shivering / startled / thirsty / whistling / bare / drowned / empty / gloomy

@nature
moon / sun / wind / fog / thunder / snow / starlight / frost / rainbow / clouds / swallows /
drizzle / echoes / fireflies / twilight / geese

@moved
crept over / leaned on / sang to / slept above / hurried across / drifted past / danced around /
peered into / settled on / wandered through / whispered to / hid behind / shone on / tugged at /
forgot / woke

@scenery
orchard / rooftops / bay / meadow / chimneys / barley / chapel / bridges / cabbages / village /
hedges / gardens / graveyard / haystacks / market / mill / pines / quarry / reeds / vineyard /
washing / ivy / islands / road

@said
5*said / 2*whispered / 2*cried / sang / growled / mumbled / laughed / sighed / declared / sneezed

@soon
Just then / At that moment / Before long / Soon / After supper / Towards evening / Luckily /
By and by / At dawn / Two days later / One <meal> later

@place
under the bed / behind the <furniture> / in the flour bin / up the chimney / down the well /
among the <plural> / inside both boots / on the roof / beneath <a item> / between the pillows

@dawn
morning / sunrise / noon / the time the <plural> woke

@sigh
Oh dear / What a day / I am undone / This will not do / How strange / Bother / Alas / Not again /
My poor <plural> / Help

@passing
strolling by / over the hill / up from the river / round the corner / out of the hedge /
home from market / along in <a item_house> / down the lane with <a item>

@offer
Two see more than one / Begin at the beginning / I never lose anything but races / Let us look
slowly / Tell me everything / I have a nose for trouble / Follow the <plural> / Try <a item>

@hidden
in a bird's nest / under a heap of <plural> / deep in [hero]'s own pocket / at the bottom of the
<water> / behind <a someone> / on top of the <furniture> / inside <a item>

@joy
laughed out loud / danced on the spot / wept for joy / turned three somersaults / hugged the
<furniture> / could not say a word / cheered until the <plural> shook

@plea
I have lost my way / my boat has sunk / the inn is full / a thief took my <plural> /
my feet have given up / nobody else will open / there are <plural> after me

@welcomed
opened the door wide / asked no questions / put the kettle on / made room at the table /
bowed very low / brought <a item>

@improved
had been polished / shone like the moon / was full of <plural> / had learned a tune /
smelled of <meal> / wore a bow

@howled
tore at / bent / scattered / rattled / drenched / swallowed

@howled_too
blew away / flattened / frightened / buried / rolled / woke

@outside
in the garden / on the wall / out on the pier / hanging from a branch / up on the roof /
out among the <plural> / with <a someone>

@running
into the dark / through the puddles / as fast as <a kind> can / without a lantern / against the
wind / past the <scenery>

@modest
I was passing anyway / It looked lonely / You would have done the same / Somebody had to /
I think this is yours / It kept my <plural> dry

@wind_end
grew tired / lay down / forgot why it had come / went to bother <a someone> / took up <doing>

@colour
red / green / violet / invisible / brown / smudged / orange

@request
please come, for I am ill / there is a hole in my roof / I have forgotten how to laugh /
the river took my <plural> / my birthday is on <weekday> / my guest is <a someone>

@number
two / three / four / five / seven / nine / eleven / sixty

@number_of
Two / Three / Four / Five / Seven / Nine / Eleven / Sixty

@unit
hours / days / miles / hills / songs / nights

@waited
was waiting at the gate / was fast asleep / sat on <a item> / had laid the table / was hiding
behind the <plural> / ran out with <a item>

@thanks
You came / I knew you would / I hardly dared to hope / At last / Good, you brought the [thing] /
Mind the <plural>

@together
they had mended the <plural> / they were full of <meal> / they knew all about <plural> /
it turned out that the [thing] was all they needed

@glue
honey / string / candle wax / mud / porridge / resin / nails / kind words

@advice
Hold this end / Patience is the best glue / First we need <meal> / Every crack is a door /
Give me the smallest piece / Fetch <a item>

@until
the cock crowed / supper was cold / the moon set / their feet ached / it was <weekday> /
even the <plural> slept

@better
it rang twice as clear / they liked it better / it never broke again / the cracks caught the light /
now it had a story

@dark_place
cellar / attic / chimney / well / cupboard / bathtub / hayloft

@sound
tap, tap / creak / plop / hoo, hoo / scratch / bump

@sound_too
silence / a sneeze / tick, tock / drip, drip / a long low groan / a giggle

@creeping
nearer / down the steps / on tiptoe / backwards / along the wall / past the <plural>

@challenge
Who is there? / Are you a ghost? / I am not afraid! / Come out! / Is it the wind? / I have
<plural>!

@excuse
only wanted to be warm / was looking for <meal> / had been playing the flute / was stuck in
<a item> / walked in [friend.his] sleep / had followed some <plural>

@laughed
laughed / argued / shook hands / told ghost stories / sang

@no_sale
Some things have no price / It would be homesick / I should miss it / A promise is a promise /
Keep your <plural>

@respect
understood at once / smiled / took off [friend.his] hat / blushed / sighed like <a someone>

@too
too quiet / very large / full of echoes / as cold as <a item>

@contest
kite / pie / singing / boat / snoring / garden / dancing / riddle / turnip / soup

@scorn
Go home / How sweet / Is that all / I have won already / We shall see / My <plural> are laughing

@mishap
the judge fell asleep / all the <plural> fell over / it began to pour / a bull got loose /
somebody spilled the <meal>

@saved
saved the day / woke everybody / showed the way / made the crowd cheer / held it all together

@shared
gave half to [friend] / invited everyone for <meal> / lost them on the way home / blushed

@dream
gold / fame / wings / a castle / a new nose

@humble
a friend / one more story / rain for the <plural> / good sleep for everyone / nothing at all

@star_said
Granted / Nobody ever asks for that / You had it already / Well chosen / Sweet dreams

@rose
rose over the <scenery> / went out like <a item> / winked at the <plural> / is there to this day

@virtue
patience / kindness / courage / curiosity / friendship / laughter / truth / silence / supper /
hope / luck / music / memory / practice / sleep / good manners

@better_than
warmer / louder / lighter / older / kinder / stronger / brighter / cheaper / sweeter / taller /
wiser / rarer / softer / deeper

@worth
gold / any wall / the sea / a cart of <plural> / the king's crown / winter / thunder / your best
<thing>

@sorry
sad / in a hurry / afraid of <plural> / late for <meal> / alone / cross before breakfast

@doing
singing / laughing / humming / snoring / eating <meal> / counting <plural>
)";

}  // namespace

std::string tale_grammar_text() { return std::string(kShapes) + std::string(kWords); }

}  // namespace snug::data::tales
