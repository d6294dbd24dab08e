// Draws the plots, and draws them anew when the reader goes from light to dark.
const plots = JSON.parse(document.getElementById("plots").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

function config() {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = colour("--ink"), quiet = colour("--quiet"), rule = colour("--rule");
  return {
    font: "system-ui, sans-serif",
    view: { stroke: rule },
    axis: {
      labelColor: ink, titleColor: quiet, gridColor: rule, gridOpacity: 0.6, domainColor: rule, tickColor: rule,
      titleFontWeight: "normal",
    },
    legend: { labelColor: ink, titleColor: quiet, titleFontWeight: "normal" },
    style: { count: { color: ink }, diagonal: { color: quiet }, error: { color: ink } },
  };
}

function draw() {
  for (const place of document.querySelectorAll("[data-plot]")) {
    vegaEmbed(place, plots[place.dataset.plot], {
      mode: "vega-lite",
      config: config(),
      renderer: "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
      tooltip: { theme: dark.matches ? "dark" : "light" },
    }).catch((error) => { place.textContent = `This plot could not be drawn: ${error.message}`; });
  }
}

draw();
dark.addEventListener("change", draw);
