// Finds what the long lists of a key's restrictions say about one request, so that neither requests nor the objects of a filtered list are compared
// with each entry: scopes and rules have thousands of entries, and lists thousands of objects.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  compileLabelRequirements,
  type LabelRequirement,
  type Labels,
} from "@postern/apimachinery/selectors/label-requirement";

/** The values of one field that an entry names; undefined where it does not narrow by this field. */
export type NamedValues = readonly string[] | undefined;

/** The values by which the entries of a list are found. One for each kind of question. */
export type Filing<Entry> = {
  /** By field, as many for each entry. */
  readonly valuesOf: (entry: Entry) => readonly NamedValues[];
  /** The part of an entry that decides what it opens, where the first of several that are alike is enough. */
  readonly identityOf?: (entry: Entry) => JsonValue;
};

/** Shorter lists are searched from the start. */
const FEW = 16;

/** Each takes up to a few hundred bytes, and owners have many keys: beyond this, all are put together again when they are asked for. */
const MAX_SIZE = 100_000;

const NO_PLACES: readonly number[] = [];

/** Lists are known by identity: those of a key's record never change. */
export class RestrictionIndex {
  /** Entries that were handed out, for tests. */
  visited = 0;
  readonly #few: number;
  #sets = new WeakMap<readonly string[], ReadonlySet<string>>();
  #filed = new WeakMap<readonly unknown[], Map<unknown, Lookup>>();
  #selectors = new WeakMap<readonly LabelRequirement[], (labels: Labels) => boolean>();

  /** Entries and values that are kept. */
  #size = 0;

  constructor(few: number = FEW) {
    this.#few = few;
  }

  includes(list: readonly string[], value: string): boolean {
    if (list.length <= this.#few) return list.includes(value);
    const known = this.#sets.get(list);
    if (known !== undefined) return known.has(value);
    this.#makeRoom(list.length);
    const made = new Set(list);
    this.#sets.set(list, made);
    return made.has(value);
  }

  /** Whether labels meet all requirements. */
  selects(requirements: readonly LabelRequirement[], labels: Labels): boolean {
    const known = this.#selectors.get(requirements);
    if (known !== undefined) return known(labels);
    this.#makeRoom(requirements.reduce((sum, { values }) => sum + 1 + values.length, 0));
    const made = compileLabelRequirements(requirements);
    this.#selectors.set(requirements, made);
    return made(labels);
  }

  /** Index of the first entry that `opens`; -1 without one. `asked` has the values that it may name, by field. */
  findIndex<Entry>(
    entries: readonly Entry[],
    filing: Filing<Entry>,
    asked: () => readonly (readonly string[])[],
    opens: (entry: Entry) => boolean,
  ): number {
    if (entries.length <= this.#few) return entries.findIndex(opens);
    let first = -1;
    for (const places of this.#filedBy(entries, filing).candidates(asked())) {
      for (const place of places) {
        if (first >= 0 && place > first) break;
        this.visited++;
        const entry = entries[place];
        if (entry !== undefined && opens(entry)) first = place;
      }
    }
    return first;
  }

  #filedBy<Entry>(entries: readonly Entry[], filing: Filing<Entry>): Lookup {
    const known = this.#filed.get(entries)?.get(filing);
    if (known !== undefined) return known;
    this.#makeRoom(entries.length);
    const filed = new FiledEntries(entries, filing);
    const byFiling = this.#filed.get(entries) ?? new Map<unknown, Lookup>();
    this.#filed.set(entries, byFiling.set(filing, filed));
    return filed;
  }

  #makeRoom(size: number): void {
    this.#size += size;
    if (this.#size <= MAX_SIZE) return;
    this.#sets = new WeakMap();
    this.#filed = new WeakMap();
    this.#selectors = new WeakMap();
    this.#size = size;
  }
}

type Lookup = Pick<FiledEntries<unknown>, "candidates">;

/** Each entry is filed under the values of one field: the one whose values the fewest others name. */
class FiledEntries<Entry> {
  /** By field and value, in ascending order. */
  readonly #byField: readonly Map<string, number[]>[];
  /** Those that no field narrows. */
  readonly #open: number[] = [];

  constructor(entries: readonly Entry[], { valuesOf, identityOf }: Filing<Entry>) {
    const counts: Map<string, number>[] = [];
    const distinct = new Map<string, { readonly place: number; readonly values: readonly NamedValues[] }>();
    for (const [place, entry] of entries.entries()) {
      const identity = identityOf === undefined ? String(place) : JSON.stringify(identityOf(entry));
      if (distinct.has(identity)) continue;
      const values = valuesOf(entry);
      distinct.set(identity, { place, values });
      for (const [field, ofField] of values.entries()) {
        counts[field] ??= new Map<string, number>();
        for (const value of ofField ?? []) counts[field].set(value, (counts[field].get(value) ?? 0) + 1);
      }
    }
    this.#byField = counts.map(() => new Map<string, number[]>());
    for (const { place, values } of distinct.values()) {
      let rarest: { readonly field: number; readonly count: number } | undefined;
      for (const [field, ofField] of values.entries()) {
        if (ofField === undefined) continue;
        const count = ofField.reduce((most, value) => Math.max(most, counts[field]?.get(value) ?? 0), 0);
        if (rarest === undefined || count < rarest.count) rarest = { field, count };
      }
      if (rarest === undefined) this.#open.push(place);
      else this.#file(rarest.field, values[rarest.field] ?? [], place);
    }
  }

  #file(field: number, values: readonly string[], place: number): void {
    const byValue = this.#byField[field];
    for (const value of new Set(values)) {
      const known = byValue?.get(value);
      if (known === undefined) byValue?.set(value, [place]);
      else known.push(place);
    }
  }

  /** Lists in which every entry is that may be meant. */
  candidates(asked: readonly (readonly string[])[]): readonly (readonly number[])[] {
    const found: (readonly number[])[] = [this.#open];
    for (const [field, values] of asked.entries()) {
      for (const value of values) found.push(this.#byField[field]?.get(value) ?? NO_PLACES);
    }
    return found;
  }
}
