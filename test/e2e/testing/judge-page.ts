// A page as axe-core judges it. Its script has to be in the page: `page.evaluate(axe.source)`.

import type { Page } from "playwright-core";

type Finding = { readonly id: string; readonly help: string; readonly nodes: readonly FindingNode[] };
type FindingNode = { readonly html: string; readonly failureSummary: string };

/**
 * Where every element has a transition, however short, an inherited colour changes a frame later with each level of the page: axe-core would judge the
 * innermost texts in the colour of the other theme. The page's policy allows style sheets that a script constructs.
 */
export const WITHOUT_TRANSITIONS = `{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets.push(sheet);
}`;

/** One line for each element that breaks a rule. `rules`: of axe-core; all of them where there is none. `name` of the page begins each line. */
export async function axeFindings(page: Page, name: string, rules: readonly string[] = []): Promise<readonly string[]> {
  const { violations } = (await page.evaluate(
    rules.length === 0 ? "axe.run(document)" : `axe.run(document, { runOnly: ${JSON.stringify(rules)} })`,
  )) as { readonly violations: readonly Finding[] };
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${name}: ${id}: ${help}: ${html}: ${failureSummary}`),
  );
}
