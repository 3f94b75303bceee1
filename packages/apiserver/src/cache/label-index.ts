// Finds the objects of a view by the value of a label, so that a list by label does not scan all objects.

import { OrderedEntries } from "../storage/ordered-entries.ts";
import type { CachedObject } from "./cached-object.ts";

/** The objects that have one value of one label. */
export type LabelledObjects = Pick<OrderedEntries<CachedObject>, "list" | "size">;

/** Clients choose the labels: for further ones each object is checked. */
const MAX_LABELS = 16;
/** Each takes about a hundred bytes. */
const MAX_ENTRIES = 500_000;
/** With fewer objects, looking at each of them is as quick. */
const MIN_OBJECTS = 200;

const NONE: LabelledObjects = new OrderedEntries<CachedObject>();

export class LabelIndex {
  /** By label, and by value. */
  readonly #labels = new Map<string, Map<string, OrderedEntries<CachedObject>>>();
  /** Labels of one query: the second query builds the index. */
  readonly #asked = new Set<string>();
  #entries = 0;

  /** In byte order of keys. Undefined where there is no index of the label. `all` are the objects of the view. */
  find(label: string, value: string, all: OrderedEntries<CachedObject>): LabelledObjects | undefined {
    const known = this.#labels.get(label) ?? this.#make(label, all);
    return known === undefined ? undefined : (known.get(value) ?? NONE);
  }

  /** An object came, went, or took the place of another. */
  change(previous: CachedObject | undefined, object: CachedObject | undefined): void {
    for (const [label, values] of this.#labels) {
      const [before, after] = [labelValue(previous, label), labelValue(object, label)];
      if (before !== undefined && before !== after) this.#remove(values, before, previous?.key ?? "");
      if (after !== undefined && object !== undefined) this.#add(values, after, object);
    }
  }

  #make(label: string, all: OrderedEntries<CachedObject>): Map<string, OrderedEntries<CachedObject>> | undefined {
    if (all.size < MIN_OBJECTS || this.#labels.size >= MAX_LABELS || this.#entries + all.size > MAX_ENTRIES) {
      return undefined;
    }
    if (!this.#asked.has(label)) {
      if (this.#asked.size >= MAX_LABELS) this.#asked.clear();
      this.#asked.add(label);
      return undefined;
    }
    this.#asked.delete(label);
    const values = new Map<string, OrderedEntries<CachedObject>>();
    for (const object of all.list("")) {
      const value = labelValue(object, label);
      if (value !== undefined) this.#add(values, value, object);
    }
    // A label that no object has is found quickly enough, and takes no place from labels that some have.
    if (values.size > 0) this.#labels.set(label, values);
    return values;
  }

  #add(values: Map<string, OrderedEntries<CachedObject>>, value: string, object: CachedObject): void {
    let objects = values.get(value);
    if (objects === undefined) {
      objects = new OrderedEntries();
      values.set(value, objects);
    }
    if (objects.set(object) === undefined) this.#entries += 1;
  }

  #remove(values: Map<string, OrderedEntries<CachedObject>>, value: string, key: string): void {
    const objects = values.get(value);
    if (objects?.delete(key) === undefined) return;
    this.#entries -= 1;
    if (objects.size === 0) values.delete(value);
  }
}

/** A label may have the name of something that every object of JavaScript has. */
function labelValue(object: CachedObject | undefined, label: string): string | undefined {
  const labels = object?.labels;
  return labels !== undefined && Object.hasOwn(labels, label) ? labels[label] : undefined;
}
