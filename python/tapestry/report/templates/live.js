// A served page asks whether there is news, and then shows it without losing place or open parts.
(() => {
  const every = 3000;
  const news = document.getElementById("news");
  let seen = news.dataset.version;
  const say = (text) => { if (news.textContent !== text) news.textContent = text; };
  const openParts = () =>
    [...document.querySelectorAll("main details[open]")].map((part) => part.querySelector("summary").textContent.trim());
  const show = (html) => {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const open = new Set(openParts());
    const place = window.scrollY;
    const focused = document.activeElement?.getAttribute?.("href");
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    document.title = fresh.title;
    for (const part of document.querySelectorAll("main details")) {
      if (open.has(part.querySelector("summary").textContent.trim())) part.open = true;
    }
    if (focused) document.querySelector(`main a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    window.scrollTo(0, place);
  };
  const look = async () => {
    try {
      const version = await (await fetch("/version", { cache: "no-store" })).text();
      if (version !== seen) {
        show(await (await fetch("/", { cache: "no-store" })).text());
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
