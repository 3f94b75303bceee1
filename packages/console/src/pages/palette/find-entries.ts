// The entries of the palette: pages, objects and what can be done with them, and those that match what is typed.

export type Entry = {
  readonly id: string;
  readonly kind: "page" | "action" | "key" | "cluster" | "project" | "user" | "team";
  readonly title: string;
  /** Further text that is searched, and shown beside the title. */
  readonly note: string;
  readonly to: string;
  readonly search?: { readonly [name: string]: string };
};

const MOST = 40;

/** The best matches first. Every word of `query` must be in an entry; entries of equal rank stay in their order. */
export function findEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0)
    return entries
      .filter(({ kind, search }) => kind === "page" || (kind === "action" && search === undefined))
      .slice(0, MOST);
  const found = [[], [], []] as [Entry[], Entry[], Entry[]];
  for (const entry of entries) {
    const rank = rankOf(entry, words);
    if (rank !== undefined && found[rank].length < MOST) found[rank].push(entry);
  }
  return found.flat().slice(0, MOST);
}

/** 0: the title begins with the first word; 1: a word of the title does; 2: it is somewhere. Undefined: a word is missing. */
function rankOf({ title, note }: Entry, words: readonly string[]): 0 | 1 | 2 | undefined {
  const text = `${title} ${note}`.toLowerCase();
  if (!words.every((word) => text.includes(word))) return undefined;
  const [first = ""] = words;
  if (text.startsWith(first)) return 0;
  return text.includes(` ${first}`) ? 1 : 2;
}
