"use strict";
// Draws what stands in the element #charts. Colours come as tokens, "@1" or "@1:0.2", and get the
// value that page.css has for the scheme of the reader, anew when that changes.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const places = charts.map((_, at) => document.getElementById("chart-" + at));
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  // A finger that drags across a picture wants to scroll the page; a mouse wants to zoom.
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const narrow = () => window.innerWidth <= 600;

  const palette = () => {
    const style = getComputedStyle(document.documentElement);
    return (token) => {
      const [name, share] = token.slice(1).split(":");
      const hex = style.getPropertyValue("--c-" + name).trim();
      if (share === undefined) return hex;
      const part = (from) => parseInt(hex.slice(from, from + 2), 16);
      return `rgba(${part(1)},${part(3)},${part(5)},${share})`;
    };
  };
  const isToken = /^@[a-z0-9]+(:[0-9.]+)?$/;
  // Only where a colour can stand: a name may look like a token, and stays what it is.
  const coloured = (thing, colour, key) => {
    if (Array.isArray(thing)) return thing.map((one) => coloured(one, colour, key));
    if (thing !== null && typeof thing === "object") {
      return Object.fromEntries(
        Object.entries(thing).map(([name, one]) => [name, coloured(one, colour, name)]));
    }
    return typeof thing === "string" && /color$/.test(key) && isToken.test(thing)
      ? colour(thing) : thing;
  };

  // As the library lays them out: in columns, each as wide as the longest name.
  const rowsOfNames = (traces, width) => {
    const names = traces.filter((one) => one.showlegend !== false).map((one) => one.name || "");
    const widths = names.map((name) => 52 + 6.2 * name.length);
    if (widths.reduce((sum, one) => sum + one, 0) <= width) return 1;
    return Math.ceil(names.length / Math.max(1, Math.floor(width / Math.max(...widths))));
  };

  const shown = (place) => place._fullLayout && place._fullLayout.xaxis.range;

  const config = {
    displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const draw = () => Promise.all(charts.map((chart, at) => {
    const layout = coloured(chart.layout, palette());
    if (touch) layout.dragmode = false;
    // Of several rows of names each takes its height from the picture: give it back.
    const rows = rowsOfNames(chart.traces, places[at].clientWidth - 70);
    places[at].style.height = `${chart.height + 19 * (rows - 1)}px`;
    if (layout.legend) layout.legend.maxheight = 400;
    // What the reader zoomed to and hid stays so, also when night falls.
    layout.uirevision = "reader";
    if (chart.shares_time && shown(places[at])) layout.xaxis.range = shown(places[at]).slice();
    return Plotly.react(places[at], coloured(chart.traces, palette()), layout,
      { ...config, displayModeBar: narrow() || touch ? false : "hover" });
  }));

  const whole = (place) => charts[places.indexOf(place)].layout.xaxis.range;
  const together = places.filter((_, at) => charts[at].shares_time);
  let moving = false;
  const follow = (from) => {
    from.on("plotly_relayout", (change) => {
      if (moving || !Object.keys(change).some((key) => key.startsWith("xaxis."))) return;
      moving = true;
      // Back from a zoom is back to the whole run, and not to where the lines happen to end.
      const wanted = change["xaxis.autorange"] ? whole(from) : shown(from);
      const others = together.filter((one) => String(shown(one)) !== String(wanted));
      Promise.all(others.map((one) => Plotly.relayout(one, { "xaxis.range": wanted.slice() })))
        .finally(() => { moving = false; });
    });
    let pointing = false;
    from.on("plotly_hover", (event) => {
      if (pointing || !event.event || event.xvals === undefined) return;
      pointing = true;
      for (const one of together) {
        if (one !== from) Plotly.Fx.hover(one, { xval: event.xvals[0] }, ["xy"]);
      }
      pointing = false;
    });
    from.on("plotly_unhover", () => {
      for (const one of together) if (one !== from) Plotly.Fx.unhover(one);
    });
  };

  draw().then(() => {
    together.forEach(follow);
    night.addEventListener("change", draw);
    document.documentElement.dataset.drawn = "yes";
  });
})();
