// The faults of a value against its typed schema, and the texts upstream gives them.
// Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go

import { type FieldPath, formatFieldPath } from "../fieldpath/path-element.ts";

export type TypedError = { readonly path: FieldPath; readonly message: string };

/** One or more faults of a value. The message is the one clients see. */
export class TypedValueError extends Error {
  override readonly name = "TypedValueError";
  readonly faults: readonly TypedError[];

  constructor(faults: readonly TypedError[]) {
    super(describeFaults(faults));
    this.faults = faults;
  }

  /** Whether the value may be all right, but for how deeply it nests. */
  get isTooDeep(): boolean {
    return this.faults.some(({ message }) => message === TOO_DEEP);
  }
}

function describeFaults(faults: readonly TypedError[]): string {
  const texts = faults.map(({ path, message }) =>
    path.length === 0 ? message : `${formatFieldPath(path)}: ${message}`,
  );
  return texts.length === 1 ? (texts[0] ?? "") : ["errors:", ...texts.map((text) => `  ${text}`)].join("\n");
}

/** Collects faults at the place a walk has reached. */
export type TypedErrorLog = {
  readonly faults: TypedError[];
  report(path: FieldPath, message: string): void;
  /** @throws TypedValueError when anything was reported. */
  throwIfAny(): void;
};

export function createTypedErrorLog(): TypedErrorLog {
  const faults: TypedError[] = [];
  return {
    faults,
    report: (path, message) => {
      faults.push({ path: [...path], message });
    },
    throwIfAny: () => {
      if (faults.length > 0) throw new TypedValueError(faults);
    },
  };
}

export const UNDECLARED_FIELD = "field not declared in schema";
export const TOO_DEEP = "nested too deeply";
