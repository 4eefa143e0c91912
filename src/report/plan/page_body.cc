// The page's elements; the script fills them.
#include "report/plan/page_parts.h"

namespace snug {

const std::string_view kPageBody = R"html(<main>
<header>
<p class="brow">Snug · memory plan</p>
<h1 id="title"></h1>
</header>

<section id="verdict">
<p id="with"></p>
<p class="answer" aria-live="polite"><strong id="word"></strong>
<span>Needs <b id="need"></b>, <b id="budget"></b> may be used<span class="soft">: <span id="difference"></span></span>.</span></p>
<p class="run"><code id="command"></code></p>
</section>

<dl id="breakdown" aria-label="Where the budget comes from"></dl>

<section id="picture" aria-labelledby="picture-title">
<div class="bar">
<h2 id="picture-title">Memory, op by op</h2>
<label class="pick">Setting <select id="setting"></select></label>
</div>
<div class="columns">
<figure>
<div class="canvas">
<svg id="chart" role="slider" tabindex="0" aria-label="Memory alive during each op of a run"
 aria-valuemin="1">
<defs>
<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="hatch" width="2" height="7"/></pattern>
<clipPath id="above"><rect id="above-rect" x="0" y="0"/></clipPath>
</defs>
</svg>
</div>
<figcaption>Left to right: every op of a run, in order; widths say nothing about time.
Point at the picture, touch it, or use the arrow keys to see what is alive. <span id="gaps"></span></figcaption>
</figure>
<aside id="tooltip" aria-label="What is alive">
<p id="when"></p>
<p id="op"></p>
<p class="place"><span id="phase"></span><b id="alive"></b></p>
<table aria-label="By role"><tbody id="legend"></tbody></table>
<h3 id="largest-of"></h3>
<ol id="largest"></ol>
</aside>
</div>
</section>

<section class="fixes" aria-labelledby="fixes-title">
<h2 id="fixes-title">Fixes, best first</h2>
<table id="fixes" role="table" aria-labelledby="fixes-title">
<thead role="rowgroup"><tr role="row">
<th role="columnheader" scope="col">Setting</th>
<th role="columnheader" scope="col">Memory</th>
<th role="columnheader" scope="col" class="number">Batch</th>
<th role="columnheader" scope="col" class="number">Saved</th>
<th role="columnheader" scope="col" class="number">Time</th>
<th role="columnheader" scope="col">Result</th>
<th role="columnheader" scope="col">Fits</th>
</tr></thead>
<tbody role="rowgroup"></tbody>
</table>
</section>
</main>
)html";

}  // namespace snug
