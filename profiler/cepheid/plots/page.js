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

  const config = {
    displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const draw = () => Promise.all(charts.map((chart, at) => {
    const layout = coloured(chart.layout, palette());
    if (touch) layout.dragmode = false;
    // What the reader zoomed to stays, also when night falls.
    layout.uirevision = "reader";
    return Plotly.react(places[at], coloured(chart.traces, palette()), layout,
      { ...config, displayModeBar: narrow() || touch ? false : "hover" });
  }));

  const together = places.filter((_, at) => charts[at].shares_time);
  let moving = false;
  const follow = (from) => {
    from.on("plotly_relayout", (change) => {
      if (moving) return;
      const range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      const zoomed = range[0] !== undefined;
      if (!zoomed && !("xaxis.autorange" in change)) return;
      moving = true;
      const home = charts[places.indexOf(from)].layout.xaxis.range;
      const wanted = zoomed ? range : home;
      // Back from a zoom is back to the whole run, and not to where the lines happen to end.
      const all = zoomed ? together.filter((one) => one !== from) : together;
      Promise.all(all.map((one) => Plotly.relayout(one, { "xaxis.range": wanted.slice() })))
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
