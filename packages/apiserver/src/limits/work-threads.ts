// Worker threads for long computations on their own inputs: one task at a time in each thread, and the tasks of one client one after another.

import { Worker } from "node:worker_threads";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { caught } from "@postern/apimachinery/steps/caught";
import type { FieldError } from "@postern/apimachinery/validation/field-error";

/** Texts are sent, and not values: making a copy of a value takes the sender as long as reading it. */
type Works = {
  readonly decodeYaml: { readonly work: { readonly text: string }; readonly result: ReadYaml };
  /** The JSON of one value, and its YAML. */
  readonly encodeYaml: { readonly work: { readonly json: string }; readonly result: string };
  /** Undefined where more had to be looked at than one object may cost. */
  readonly checkSchema: { readonly work: SchemaWork; readonly result: readonly FieldError[] | undefined };
  readonly evaluateExpression: { readonly work: ExpressionWork; readonly result: ExpressionResult };
  readonly checkRules: {
    readonly work: SchemaWork;
    readonly result: { readonly errors: readonly FieldError[]; readonly warnings: readonly string[] };
  };
};

/** An expression of a policy or a webhook, with all that it may name. */
export type ExpressionWork = {
  readonly text: string;
  /** The JSON of the values of names. */
  readonly values: { readonly [name: string]: string };
  /** Undefined where the expression has no `variables`. */
  readonly variables: readonly { readonly name: string; readonly text: string }[] | undefined;
  /** The answers of `authorizer`. */
  readonly resource: Readonly<Record<"group" | "resource" | "subresource" | "namespace" | "name", string>>;
  /** What has been answered of what it asked: the JSON of questions and answers. */
  readonly answers: readonly (readonly [question: string, answer: string])[];
  /** What it may cost. */
  readonly most: number;
};
export type ExpressionResult = { readonly spent: number } & (
  | { readonly type: "value"; readonly value: string | boolean | null }
  /** Neither a text, nor true or false, nor null. */
  | { readonly type: "other" }
  | { readonly type: "fault"; readonly message: string }
  | { readonly type: "limit"; readonly message: string }
  /** To be answered before it is evaluated again. */
  | { readonly type: "question"; readonly question: string }
);

type SchemaWork = { readonly schema: StructuralSchema; readonly object: string; readonly old: string | undefined };
/** As the thread is sent it: a schema is sent once, and kept under its number; those before number 0 are forgotten. */
export type NumberedSchemaWork = Omit<SchemaWork, "schema"> & {
  readonly number: number;
  readonly schema: StructuralSchema | undefined;
};

export type WorkType = keyof Works;
export type WorkOf<T extends WorkType> = Works[T]["work"];
export type ResultOf<T extends WorkType> = Works[T]["result"];

/** What a YAML text says, as JSON; or the message of a YamlError. */
export type ReadYaml = { readonly json: string; readonly duplicates: readonly string[] } | { readonly fault: string };

export type ToThread =
  | { readonly type: "decodeYaml"; readonly work: WorkOf<"decodeYaml"> }
  | { readonly type: "encodeYaml"; readonly work: WorkOf<"encodeYaml"> }
  | { readonly type: "checkSchema" | "checkRules"; readonly work: NumberedSchemaWork }
  | { readonly type: "evaluateExpression"; readonly work: WorkOf<"evaluateExpression"> };
export type FromThread = { readonly result: ResultOf<WorkType> } | { readonly failure: string };

export type WorkThreads = {
  /** Rejects if the signal is aborted before the work has started, and if the thread fails. */
  run<T extends WorkType>(client: string, type: T, work: WorkOf<T>, signal: AbortSignal): Promise<ResultOf<T>>;
};

/** What is this short has a thread of its own, in which nothing takes long. */
const SHORT = 64 * 1024;
const MAX_SCHEMAS = 100;
const MAX_HEAP_MIB = 512;

/** Threads start when there is work for them, and end with `signal`. */
export function createWorkThreads(signal: AbortSignal): WorkThreads {
  const [short, long] = [new WorkThread(signal), new WorkThread(signal)];
  return {
    run: (client, type, work, aborted) =>
      ("text" in work && work.text.length <= SHORT ? short : long).run(client, type, work, aborted),
  };
}

type Waiting = {
  readonly type: WorkType;
  readonly work: WorkOf<WorkType>;
  readonly signal: AbortSignal;
  readonly resolve: (result: ResultOf<WorkType>) => void;
  readonly reject: (error: unknown) => void;
};

class WorkThread {
  /** The client with the most recent turn is last. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #ended: AbortSignal;
  #worker: Worker | undefined;
  #current: Waiting | undefined;
  #numbers = new Map<StructuralSchema, number>();

  constructor(ended: AbortSignal) {
    this.#ended = ended;
    ended.addEventListener("abort", () => this.#end(), { once: true });
  }

  run<T extends WorkType>(client: string, type: T, work: WorkOf<T>, signal: AbortSignal): Promise<ResultOf<T>> {
    return new Promise((resolve, reject) => {
      // The thread answers each work with a result of its type.
      const waiting = { type, work, signal, resolve: resolve as Waiting["resolve"], reject };
      const others = this.#waiting.get(client);
      if (others === undefined) this.#waiting.set(client, [waiting]);
      else others.push(waiting);
      this.#next();
    });
  }

  /** An answer that is on its way comes too late. */
  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    this.#done({ failure: "the thread ended" });
  }

  #next(): void {
    if (this.#current !== undefined) return;
    for (const [client, works] of this.#waiting) {
      this.#waiting.delete(client);
      const next = works.shift();
      if (works.length > 0) this.#waiting.set(client, works);
      if (next === undefined) continue;
      if (next.signal.aborted || this.#ended.aborted) {
        next.reject(next.signal.aborted ? next.signal.reason : this.#ended.reason);
        continue;
      }
      this.#current = next;
      try {
        this.#started().postMessage(this.#messageOf(next));
      } catch (error) {
        // No thread can be started, or the message cannot be copied: the work of others goes on.
        this.#current = undefined;
        next.reject(error);
        continue;
      }
      return;
    }
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript.
    const file = new URL("../../dist/server/work-thread-main.js", import.meta.url);
    const worker = new Worker(file, {
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

  #done(message: FromThread): void {
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) {
      if ("result" in message) current.resolve(message.result);
      else current.reject(new Error(`the thread for long work failed: ${message.failure}`));
    }
    this.#next();
  }
}
