// The entries of the palette: pages, objects and what can be done with them, and those that match what is typed. Entries of objects are made when they
// are found: there may be tens of thousands.

export type Entry = {
  readonly id: string;
  readonly kind: "page" | "action" | "key" | "cluster" | "project" | "user" | "team" | "docs";
  readonly title: string;
  /** Further text that is searched, and shown beside the title. */
  readonly note: string;
  /** Pages of the documentation are not of the console: they open beside it. */
  readonly to: string;
  readonly search?: { readonly [name: string]: string };
};

/** Objects of one kind, each with one entry for each of `forms`. */
export type Source = {
  readonly size: number;
  /** Title and note of an object, in lower case. */
  readonly textAt: (index: number) => string;
  /** `prefix`: in lower case, what a title has before that of the object, such as `disable key `. */
  readonly forms: readonly { readonly prefix: string; readonly entryAt: (index: number) => Entry }[];
  /** It comes last, and has some room where there is more of everything else. */
  readonly isLast?: boolean;
};

export type Form<T> = { readonly prefix: string; readonly entryOf: (object: T) => Entry };

/** `textOf`: title and note. Texts are made once for each object. */
export function sourceOf<T extends object>(
  objects: readonly T[],
  textOf: (object: T) => string,
  forms: readonly Form<T>[],
): Source {
  const at = (index: number): T => objects[index] as T;
  return {
    size: objects.length,
    textAt(index) {
      const object = at(index);
      const text = TEXTS.get(object) ?? textOf(object).toLowerCase();
      TEXTS.set(object, text);
      return text;
    },
    forms: forms.map(({ prefix, entryOf }) => ({
      prefix: prefix.toLowerCase(),
      entryAt: (index) => entryOf(at(index)),
    })),
  };
}

/** By object: another version of one is another object. */
const TEXTS = new WeakMap<object, string>();

/** Entries that are there as they are. */
export const sourceOfEntries = (entries: readonly Entry[]): Source =>
  sourceOf(entries, ({ title, note }) => `${title} ${note}`, [{ prefix: "", entryOf: (entry) => entry }]);

const MOST = 40;
const MOST_LAST = 6;

/** The best matches first. Every word of `query`, which is not empty, must be in an entry; entries of equal rank stay in their order. */
export function findEntries(sources: readonly Source[], query: string): readonly Entry[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const isLast = ({ isLast = false }: Source): boolean => isLast;
  const last = matchesIn(sources.filter(isLast), words, MOST_LAST);
  const others = matchesIn(
    sources.filter((source) => !isLast(source)),
    words,
    MOST - last.length,
  );
  return [...others, ...last];
}

function matchesIn(sources: readonly Source[], words: readonly string[], most: number): readonly Entry[] {
  const found = [[], [], []] as [Entry[], Entry[], Entry[]];
  for (const { size, textAt, forms } of sources)
    for (let index = 0; index < size; index++) {
      const text = textAt(index);
      for (const { prefix, entryAt } of forms) {
        const rank = rankOf(prefix, text, words);
        if (rank !== undefined && found[rank].length < most) found[rank].push(entryAt(index));
      }
    }
  return found.flat().slice(0, most);
}

/** 0: the title begins with the first word; 1: a word of the title does; 2: it is somewhere. Undefined: a word is missing. */
function rankOf(prefix: string, text: string, words: readonly string[]): 0 | 1 | 2 | undefined {
  for (const word of words) if (!text.includes(word) && !prefix.includes(word)) return undefined;
  const [first = ""] = words;
  if ((prefix === "" ? text : prefix).startsWith(first)) return 0;
  const isWord = prefix.includes(` ${first}`) || text.includes(` ${first}`) || text.startsWith(first);
  return isWord ? 1 : 2;
}
