// A served page asks whether there is news, and then shows it without losing place or open parts.
(() => {
  const every = 3000;
  const news = document.getElementById("news");
  let seen = news.dataset.version;
  const say = (text) => { if (news.textContent !== text) news.textContent = text; };
  // A part is known by its heading and those around it; the state beside a heading changes.
  const label = (part) => {
    const summary = part.querySelector("summary");
    return (summary.querySelector("h3") ?? summary).textContent.trim();
  };
  const key = (part) => {
    const around = part.parentElement.closest("details");
    return (around ? key(around) + " / " : "") + label(part);
  };
  const show = (html) => {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const open = new Set([...document.querySelectorAll("main details[open]")].map(key));
    const place = window.scrollY;
    const focused = document.activeElement?.getAttribute?.("href");
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    document.title = fresh.title;
    for (const part of document.querySelectorAll("main details")) {
      if (open.has(key(part))) part.open = true;
    }
    if (focused) document.querySelector(`main a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    window.scrollTo(0, place);
  };
  const look = async () => {
    try {
      const version = await (await fetch("version", { cache: "no-store" })).text();
      if (version !== seen) {
        show(await (await fetch("./", { cache: "no-store" })).text());
        say("Live: " + document.getElementById("answer").textContent.trim());
      }
      seen = version;
    } catch {
      say("Not live any more: the server has ended.");
    }
    setTimeout(look, every);
  };
  look();
})();
