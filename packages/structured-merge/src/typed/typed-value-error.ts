// The faults of a value against its typed schema, and the texts upstream gives them.
// Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go

import { type FieldPath, formatFieldPath } from "../fieldpath/path-element.ts";

export type TypedFault = { readonly path: FieldPath; readonly message: string };

/** One or more faults of a value. The message is the one clients see. */
export class TypedValueError extends Error {
  override readonly name = "TypedValueError";
  readonly faults: readonly TypedFault[];

  constructor(faults: readonly TypedFault[]) {
    super(describeFaults(faults));
    this.faults = faults;
  }
}

function describeFaults(faults: readonly TypedFault[]): string {
  const texts = faults.map(({ path, message }) =>
    path.length === 0 ? message : `${formatFieldPath(path)}: ${message}`,
  );
  return texts.length === 1 ? (texts[0] ?? "") : ["errors:", ...texts.map((text) => `  ${text}`)].join("\n");
}

/** Collects faults at the place a walk has reached. */
export type FaultLog = {
  readonly faults: TypedFault[];
  report(path: FieldPath, message: string): void;
  /** @throws TypedValueError when anything was reported. */
  throwIfAny(): void;
};

export function createFaultLog(): FaultLog {
  const faults: TypedFault[] = [];
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
