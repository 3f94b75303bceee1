// Worker threads for long computations on their own inputs. Tenants share their time equally, and none occupies all threads.

import { Worker } from "node:worker_threads";
import { type ApiError, timeoutError } from "@postern/apimachinery/meta/api-error";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { caught } from "@postern/apimachinery/steps/caught";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Runtime } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { Lanes } from "./lanes.ts";

/** Texts are sent, and not values: making a copy of a value takes the sender as long as reading it. */
type Works = {
  readonly decodeYaml: { readonly work: { readonly text: string }; readonly result: ReadYaml };
  /** The JSON of one value, and its YAML. */
  readonly encodeYaml: { readonly work: { readonly json: string }; readonly result: string };
  /** `tooLongAt`: more had to be looked at than one object may cost. The field is the one that was looked at last. */
  readonly checkSchema: {
    readonly work: SchemaWork;
    readonly result: readonly FieldError[] | { readonly tooLongAt: string };
  };
  readonly checkRules: {
    readonly work: SchemaWork;
    readonly result: { readonly errors: readonly FieldError[]; readonly warnings: readonly string[] };
  };
};

type SchemaWork = { readonly schema: StructuralSchema; readonly object: string; readonly old: string | undefined };
/** As the thread is sent it: a schema is sent once, and kept under its number; those before number 0 are forgotten. */
export type NumberedSchemaWork = Omit<SchemaWork, "schema"> & {
  readonly number: number;
  readonly schema: StructuralSchema | undefined;
};

export type WorkType = keyof Works;
export type WorkOf<T extends WorkType> = Works[T]["work"];
export type ResultOf<T extends WorkType> = Works[T]["result"];

/** The content of a YAML text, as JSON; or the message of a YamlError. */
export type ReadYaml = { readonly json: string; readonly duplicates: readonly string[] } | { readonly fault: string };

export type ToThread =
  | { readonly type: "decodeYaml"; readonly work: WorkOf<"decodeYaml"> }
  | { readonly type: "encodeYaml"; readonly work: WorkOf<"encodeYaml"> }
  | { readonly type: "checkSchema" | "checkRules"; readonly work: NumberedSchemaWork };
export type FromThread = { readonly result: ResultOf<WorkType> } | { readonly failure: string };

/** Tenant, and client of it. */
export type WorkOwner = { readonly lane: string; readonly client: string };

export type WorkThreads = {
  /**
   * Rejects if the signal is aborted before the work has started, if the thread fails, and with a Timeout error (504) for work that took longer than
   * 30 s in its thread.
   */
  run<T extends WorkType>(owner: WorkOwner, type: T, work: WorkOf<T>, signal: AbortSignal): Promise<ResultOf<T>>;
};

export type ThreadsRuntime = Pick<Runtime, "clock" | "scheduler">;

/** Texts this short have a thread of their own, in which nothing takes long. */
const SHORT = 64 * 1024;
/** A tenant has one of them at most. The second one starts when two tenants have work. */
const LONG_THREADS = 2;
const MAX_SCHEMAS = 100;
const MAX_HEAP_MIB = 512;
/**
 * Budgets of steps and costs end work within a few seconds of processor time, and name the field. This is for work that no budget foresaw, on a
 * machine that has other things to do.
 */
const LONGEST_MS = 30_000;

/**
 * Threads run `script`, built JavaScript that posts a `FromThread` for each `ToThread`. They start when there is work for them, and end
 * with `signal`.
 */
export function createWorkThreads(
  script: URL,
  signal: AbortSignal,
  runtime: ThreadsRuntime = systemRuntime,
): WorkThreads {
  const pool = (size: number): ThreadPool => new ThreadPool(size, script, signal, runtime);
  const [short, long] = [pool(1), pool(LONG_THREADS)];
  return {
    run: (owner, type, work, aborted) =>
      ("text" in work && work.text.length <= SHORT ? short : long).run(owner, type, work, aborted),
  };
}

type Waiting = {
  readonly type: WorkType;
  readonly work: WorkOf<WorkType>;
  readonly signal: AbortSignal;
  readonly resolve: (result: ResultOf<WorkType>) => void;
  readonly reject: (error: unknown) => void;
};

class ThreadPool {
  readonly #lanes = new Lanes<Waiting>();
  readonly #threads: readonly WorkThread[];
  readonly #ended: AbortSignal;
  readonly #clock: Runtime["clock"];

  constructor(size: number, script: URL, ended: AbortSignal, runtime: ThreadsRuntime) {
    this.#threads = Array.from({ length: size }, () => new WorkThread(script, runtime.scheduler));
    this.#ended = ended;
    this.#clock = runtime.clock;
    const end = (): void => {
      for (const thread of this.#threads) thread.end();
    };
    ended.addEventListener("abort", end, { once: true });
  }

  run<T extends WorkType>(owner: WorkOwner, type: T, work: WorkOf<T>, signal: AbortSignal): Promise<ResultOf<T>> {
    return new Promise((resolve, reject) => {
      // The thread answers each work with a result of its type.
      this.#lanes.add(owner.lane, owner.client, { type, work, signal, resolve: resolve as Waiting["resolve"], reject });
      this.#next();
    });
  }

  #next(): void {
    for (;;) {
      const thread = this.#threads.find(({ isFree }) => isFree);
      const next = thread && this.#lanes.take();
      if (thread === undefined || next === undefined) return;
      const { lane, item } = next;
      if (item.signal.aborted || this.#ended.aborted) {
        this.#lanes.finish(lane, 0);
        item.reject(item.signal.aborted ? item.signal.reason : this.#ended.reason);
        continue;
      }
      const startedAt = this.#clock.elapsed();
      thread.start(item, () => {
        this.#lanes.finish(lane, this.#clock.elapsed() - startedAt);
        this.#next();
      });
    }
  }
}

class WorkThread {
  readonly #script: URL;
  readonly #scheduler: Runtime["scheduler"];
  #worker: Worker | undefined;
  #current: { readonly work: Waiting; readonly onDone: () => void; readonly deadline: Disposable } | undefined;
  #numbers = new Map<StructuralSchema, number>();

  constructor(script: URL, scheduler: Runtime["scheduler"]) {
    this.#script = script;
    this.#scheduler = scheduler;
  }

  get isFree(): boolean {
    return this.#current === undefined;
  }

  /** `onDone` is called when the thread is free again, never before this returns. */
  start(work: Waiting, onDone: () => void): void {
    const deadline = this.#scheduler.schedule(LONGEST_MS, () => this.#giveUp({ error: tookTooLong(work.type) }));
    this.#current = { work, onDone, deadline };
    try {
      this.#started().postMessage(this.#messageOf(work));
    } catch (error) {
      // No thread can be started, or the message cannot be copied: the work of others goes on.
      queueMicrotask(() => this.#done({ error }));
    }
  }

  end(): void {
    this.#giveUp({ failure: "the thread ended" });
  }

  /** An answer that is on its way comes too late. */
  #giveUp(outcome: Outcome): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    this.#done(outcome);
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(this.#script, {
      name: "long-work",
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    this.#numbers = new Map();
    // A thread that was given up says nothing about the work of the next one.
    const done = (message: FromThread): void => {
      if (this.#worker === worker) this.#done(message);
    };
    const failed = (failure: string): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#done({ failure });
    };
    /** The thread may have given an answer that cannot be read. */
    const fail = (error: unknown): void => {
      void worker.terminate();
      failed(error instanceof Error ? error.message : String(error));
    };
    worker.on("message", caught(fail, done));
    worker.on("messageerror", fail);
    worker.on("error", fail);
    worker.on("exit", () => failed("the thread ended"));
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #messageOf({ type, work }: Waiting): ToThread {
    if (!("schema" in work)) return { type, work } as ToThread; // the two belong together
    const { schema, object, old } = work;
    const known = this.#numbers.get(schema);
    if (known !== undefined) return { type, work: { object, old, number: known, schema: undefined } } as ToThread;
    if (this.#numbers.size >= MAX_SCHEMAS) this.#numbers.clear();
    const number = this.#numbers.size;
    this.#numbers.set(schema, number);
    return { type, work: { object, old, number, schema } } as ToThread;
  }

  #done(outcome: Outcome): void {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    current.deadline[Symbol.dispose]();
    const { resolve, reject } = current.work;
    if ("result" in outcome) resolve(outcome.result);
    else if ("error" in outcome) reject(outcome.error);
    else reject(new Error(`the thread for long work failed: ${outcome.failure}`));
    current.onDone();
  }
}

type Outcome = FromThread | { readonly error: unknown };

const WORK_NAMES: { readonly [type in WorkType]: string } = {
  decodeYaml: "reading the YAML",
  encodeYaml: "writing the YAML",
  checkSchema: "checking the object against its schema",
  checkRules: "evaluating x-kubernetes-validations",
};

const tookTooLong = (type: WorkType): ApiError =>
  timeoutError(`${WORK_NAMES[type]} took longer than ${LONGEST_MS / 1000} seconds`);
