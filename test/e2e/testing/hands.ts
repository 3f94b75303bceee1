// How a person works a page: with the mouse, or with the keyboard alone.

import type { Locator, Page } from "playwright-core";

export type Hands = {
  press(target: Locator): Promise<void>;
  type(field: Locator, text: string): Promise<void>;
  /** A checkbox, or one of several radio buttons. */
  check(box: Locator): Promise<void>;
  /** An option of a select, which may have a search. */
  choose(select: Locator, option: string): Promise<void>;
};

/** Of a select with many choices. */
const searchOf = (page: Page): Locator => page.locator(".select-search input");

/** Choices of a long list come a moment after the select is opened, and the search with them. */
async function isSearched(page: Page, wanted: Locator): Promise<boolean> {
  await wanted.or(searchOf(page)).first().waitFor();
  return (await searchOf(page).count()) > 0;
}

export const mouseOf = (page: Page): Hands => ({
  press: (target) => target.click(),
  type: (field, text) => field.fill(text),
  // The box itself is hidden below its drawing.
  check: (box) => box.check({ force: true }),
  async choose(select, option) {
    await select.click();
    await page.getByRole("listbox").waitFor();
    const wanted = page.getByRole("option", { name: option, exact: true });
    if (await isSearched(page, wanted)) await searchOf(page).fill(option);
    await wanted.click();
  },
});

/** Tab leads from one control to the next; so many of them are passed on a page. */
const MOST_TABS = 250;

export function keyboardOf(page: Page): Hands {
  const { keyboard } = page;
  const hasFocus = async (target: Locator): Promise<boolean> => (await target.and(page.locator(":focus")).count()) > 0;
  /** Goes on with `key` until `target` has the focus. */
  const leadTo = async (target: Locator, key: string): Promise<void> => {
    await target.waitFor({ state: "attached" });
    for (let pressed = 0; pressed < MOST_TABS; pressed++) {
      if (await hasFocus(target)) return;
      await keyboard.press(key);
    }
    throw new Error(`${key} does not lead to ${target}`);
  };
  return {
    async press(target) {
      await leadTo(target, "Tab");
      await keyboard.press("Enter");
    },
    async type(field, text) {
      await leadTo(field, "Tab");
      await keyboard.press("Control+a");
      await keyboard.insertText(text);
    },
    async check(box) {
      if (await box.isChecked()) return;
      if ((await box.getAttribute("type")) === "radio") {
        // One of a group takes the focus; arrows lead to the others, and choose them.
        const group = box.locator("xpath=ancestor::*[@role='radiogroup']");
        await leadTo(group.getByRole("radio", { checked: true }), "Tab");
        await leadTo(box, "ArrowDown");
        return;
      }
      await leadTo(box, "Tab");
      await keyboard.press("Space");
    },
    async choose(select, option) {
      await leadTo(select, "Tab");
      await keyboard.press("Enter");
      await page.getByRole("listbox").waitFor();
      const wanted = page.getByRole("option", { name: option, exact: true });
      if (await isSearched(page, wanted)) {
        await keyboard.insertText(option);
        await wanted.waitFor();
        await keyboard.press("ArrowDown");
      } else await leadTo(wanted, "ArrowDown");
      await keyboard.press("Enter");
    },
  };
}
