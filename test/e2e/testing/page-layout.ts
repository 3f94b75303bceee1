// Faults in the layout of a page as a browser shows it: wider than its window, texts that are cut, and parts that lie over each other.

import type { Page } from "playwright-core";

/**
 * In the page. A text is cut where a box around it hides a part of it, and neither scrolls nor has a `title`. Texts and controls overlap where they share
 * more than the space between two lines.
 */
const FAULTS = `(() => {
  const faults = [];
  const wider = document.documentElement.scrollWidth - innerWidth;
  if (wider > 0) faults.push("the page is " + wider + " px wider than the window");
  const main = document.querySelector("[role=dialog]") ?? document.querySelector("main");
  const hidesSome = (element) => getComputedStyle(element).overflowX !== "visible";
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const shown = [];
  const nameOf = (element) => element.tagName.toLowerCase() + (element.className === "" || typeof element.className !== "string" ? "" : "." + element.className.split(" ").join("."));

  // The part of a rectangle that the boxes around an element leave; undefined where nothing is left, or it is for screen readers alone.
  const visible = (element, { left, top, right, bottom }, text) => {
    const rest = { left, top, right, bottom };
    for (let box = element; box !== null && box !== document.body; box = box.parentElement) {
      if (!hidesSome(box)) continue;
      const around = box.getBoundingClientRect();
      if (around.width <= 2 || around.height <= 2) return undefined;
      if (text !== undefined && !scrolls(box) && rest.right > around.right + 1 && element.closest("[title]") === null)
        faults.push("cut: " + JSON.stringify(text) + " in " + nameOf(box) + ", " + Math.round(rest.right - around.right) + " px");
      rest.left = Math.max(rest.left, around.left);
      rest.right = Math.min(rest.right, around.right);
      rest.top = Math.max(rest.top, around.top);
      rest.bottom = Math.min(rest.bottom, around.bottom);
    }
    return rest.right - rest.left > 1 && rest.bottom - rest.top > 1 ? rest : undefined;
  };
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.trim();
    const element = node.parentElement;
    if (text === "" || !isShown(element) || element.closest("datalist, select, svg, title") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue;
      const place = visible(element, rect, text);
      if (place !== undefined) shown.push({ element, place, what: JSON.stringify(text) });
    }
  }
  for (const element of main.querySelectorAll("button, a.button, input, textarea, .select")) {
    const rect = element.getBoundingClientRect();
    if (!isShown(element) || rect.width < 3) continue;
    const place = visible(element, rect, undefined);
    if (place !== undefined) shown.push({ element, place, what: nameOf(element) });
  }
  const within = 4;
  for (const [at, one] of shown.entries())
    for (const other of shown.slice(at + 1)) {
      if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
      const width = Math.min(one.place.right, other.place.right) - Math.max(one.place.left, other.place.left);
      const height = Math.min(one.place.bottom, other.place.bottom) - Math.max(one.place.top, other.place.top);
      if (width <= within || height <= within) continue;
      // A field may lie below its own drawing, such as the box of a checkbox.
      const label = one.element.closest("label");
      if (label !== null && label === other.element.closest("label")) continue;
      // A button of a row lies over the link that the whole row is.
      if (one.element.closest("tr, li") !== null && [one, other].some(({ element }) => element.matches("button.row-link"))) continue;
      faults.push("over each other: " + one.what + " and " + other.what);
    }
  return [...new Set(faults)];
})()`;

/** One line for each fault. */
export const layoutFaults = (page: Page): Promise<readonly string[]> => page.evaluate<readonly string[]>(FAULTS);
