"use strict";
// The page of a proof. Everything is in the document already; this adds the player, the search and
// the choice of colours. Text of the record is only ever read, never made into markup.
(() => {
  const root = document.documentElement;

  // -- colours

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
  });

  // -- search

  const rows = [...document.querySelectorAll("[data-row]")];
  const found = document.getElementById("found");
  document.getElementById("search").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += row.hidden ? 0 : 1;
    }
    found.textContent = words.length ? `${count} found` : "";
  });

  // -- printing shows what is folded

  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });

  // -- the player

  const stage = document.getElementById("player");
  const cast = document.getElementById("cast");
  root.dataset.player = "missing";
  if (!stage || !cast || typeof AsciinemaPlayer === "undefined") return;

  const unpacked = async () => {
    const packed = Uint8Array.from(atob(cast.textContent.trim()), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  const seekOnClick = (player) => {
    for (const button of document.querySelectorAll("button[data-marker]")) {
      button.addEventListener("click", async () => {
        for (const one of document.querySelectorAll(".step.here")) one.classList.remove("here");
        const step = button.closest(".step");
        if (step) step.classList.add("here");
        await player.seek({ marker: Number(button.dataset.marker) });
        await player.play();
        if (matchMedia("(max-width: 860px)").matches) stage.scrollIntoView({ block: "center" });
      });
    }
  };

  const start = async () => {
    const data = await unpacked();
    const player = AsciinemaPlayer.create({ data }, stage, {
      fit: "width",
      idleTimeLimit: 2,
      preload: true,
      poster: "npt:100000",
      terminalFontSize: "small",
    });
    window.agentPtyPlayer = player;
    seekOnClick(player);
    root.dataset.player = "ready";
  };

  start().catch((error) => {
    root.dataset.player = "failed";
    stage.textContent = `The recording cannot be played in this browser: ${error}`;
    stage.className = "missing";
  });
})();
