// Makes the lines of watch events: each once for all watches that send an event in the same form, and no more in one turn of the event loop than others
// can wait for.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { WatchEventType } from "../../registry/resource-storage.ts";
import { encodeKept } from "../negotiation/object-value.ts";

/** A form in which watches send objects of one definition: as a Table, as metadata alone, or in protobuf. */
export type LineForm = {
  readonly definition: ResourceDefinition;
  /** Distinguishes the forms of a definition. */
  readonly id: string;
  /** Lines of another tick are not sent, since they name ages. */
  tick(): number;
  /** The line of an event, or the frame. `budget`: for the cells of a Table. */
  render(type: string, object: CachedObject | KubeObject, budget: number | undefined): RenderedEvent;
};

export type RenderedEvent = {
  readonly bytes: Uint8Array;
  /** Work on the cells of a Table, in visited values. */
  readonly work: number;
  /** False: values were left out for a lack of `budget`. */
  readonly isWhole: boolean;
};

export type EventLine = {
  readonly bytes: Uint8Array;
  /** Work on the cells of a Table, in visited values. */
  readonly work: number;
  /** All work that was done now, in bytes and values: nothing for a line that was at hand. */
  readonly cost: number;
};

export type EventLines = {
  /** The line with the object as it is. */
  plain(type: WatchEventType, object: CachedObject): Uint8Array;
  /** The line in another form. Cells that take more work than `budget` are left out. Default: what any object may take. */
  converted(form: LineForm, type: WatchEventType, object: CachedObject, budget?: number): EventLine;
  /** Whether the line can be made and sent in this turn of the event loop. Undefined: in the form of the object. */
  hasTime(form: LineForm | undefined, type: WatchEventType, object: CachedObject): boolean;
};

type KeptLine = Omit<EventLine, "cost"> & { readonly tick: number };

/** Enough for what one commit holds. */
const KEPT_BYTES = 1 << 20;

/** Bytes that are parsed, and values that are visited, in one turn of the event loop: a few milliseconds, beside the last object. Sending counts as well. */
const WORK_PER_TURN = 256 * 1024;

/** Bytes of long lines that are encrypted and sent in the time of one byte that is parsed. Short lines are sent in any turn. */
const SENT_BYTES_PER_WORK = 32;
const LONG_LINE_BYTES = 4 * 1024;

const sendingWork = (bytes: number): number => (bytes < LONG_LINE_BYTES ? 0 : Math.ceil(bytes / SENT_BYTES_PER_WORK));

export function createEventLines(onTurn: (begin: () => void) => void = setImmediate): EventLines {
  const kept = new KeptLines();
  const shared = new SharedLines();
  const definitions = new WeakMap<ResourceDefinition, number>();
  let definitionCount = 0;
  let workOfTurn = 0;

  function keyOf({ definition, id }: LineForm, type: WatchEventType): string {
    const number = definitions.get(definition) ?? definitionCount++;
    definitions.set(definition, number);
    return `${number} ${type} ${id}`;
  }
  function spend(work: number): void {
    if (work === 0) return;
    if (workOfTurn === 0) {
      onTurn(() => {
        workOfTurn = 0;
      });
    }
    workOfTurn += work;
  }
  function known(form: LineForm, type: WatchEventType, object: CachedObject): KeptLine | undefined {
    const line = kept.get(object, keyOf(form, type));
    return line?.tick === form.tick() ? line : undefined;
  }

  return {
    plain(type, object) {
      const line = kept.get(object, type);
      spend(sendingWork(object.byteLength));
      if (line !== undefined) return line.bytes;
      const make = (): Uint8Array => encodeKept(object, `{"type":"${type}","object":`, "}\n");
      if (object.byteLength >= SHARED_LINE_BYTES) return shared.get(object, type, make);
      const bytes = make();
      kept.add(object, type, { bytes, work: 0, tick: 0 });
      return bytes;
    },
    converted(form, type, object, budget) {
      const before = known(form, type, object);
      if (before !== undefined && (budget === undefined || before.work <= budget)) {
        spend(sendingWork(before.bytes.length));
        return { ...before, cost: 0 };
      }
      const { bytes, work, isWhole } = form.render(type, object, budget);
      const line = { bytes, work, tick: form.tick() };
      const cost = work + object.byteLength;
      spend(cost + sendingWork(line.bytes.length));
      if (isWhole) kept.add(object, keyOf(form, type), line);
      return { ...line, cost };
    },
    hasTime(form, type, object) {
      if (workOfTurn < WORK_PER_TURN) return true;
      const length = form === undefined ? object.byteLength : known(form, type, object)?.bytes.length;
      return length !== undefined && sendingWork(length) === 0;
    },
  };
}

/** Such a line waits in many watches at once, where their clients read nothing. */
const SHARED_LINE_BYTES = 64 * 1024;

/** Long lines, as long as any watch holds them. */
class SharedLines {
  readonly #lines = new WeakMap<CachedObject, Map<WatchEventType, WeakRef<Uint8Array>>>();

  get(object: CachedObject, type: WatchEventType, make: () => Uint8Array): Uint8Array {
    const lines = this.#lines.get(object) ?? new Map<WatchEventType, WeakRef<Uint8Array>>();
    this.#lines.set(object, lines);
    const known = lines.get(type)?.deref();
    if (known !== undefined) return known;
    const made = make();
    lines.set(type, new WeakRef(made));
    return made;
  }
}

/** Lines of recent events. Each watch gets all events of a commit before the next watch does. */
class KeptLines {
  /** By object, the oldest first. */
  readonly #lines = new Map<CachedObject, Map<string, KeptLine>>();
  #bytes = 0;

  get(object: CachedObject, key: string): KeptLine | undefined {
    return this.#lines.get(object)?.get(key);
  }

  add(object: CachedObject, key: string, line: KeptLine): void {
    const lines = this.#lines.get(object) ?? new Map<string, KeptLine>();
    this.#lines.set(object, lines);
    this.#bytes += line.bytes.length - (lines.get(key)?.bytes.length ?? 0);
    lines.set(key, line);
    for (const [oldest, forgotten] of this.#lines) {
      if (this.#bytes <= KEPT_BYTES || oldest === object) break;
      this.#lines.delete(oldest);
      for (const { bytes } of forgotten.values()) this.#bytes -= bytes.length;
    }
  }
}
