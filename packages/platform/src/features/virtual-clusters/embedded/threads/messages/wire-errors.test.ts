import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { isDefect } from "@postern/apiserver/logging/faults";
import { expect, it } from "vitest";
import { decodeError, encodeError } from "./wire-errors.ts";

const overWire = (error: Error) => decodeError(structuredClone(encodeError(error)));

it.each([TypeError, RangeError, ReferenceError, SyntaxError])("a defect stays one in another thread: %o", (Type) => {
  const error = new Type("text", { cause: serviceUnavailableError("cause") });
  const decoded = overWire(error);
  expect(isDefect(decoded)).toBe(true);
  expect(decoded).toMatchObject({
    ...{ name: error.name, message: "text", stack: error.stack },
    cause: { code: 503, message: "cause" },
  });
});

it("an error of another name is none", () => {
  const decoded = overWire(Object.assign(new Error("text"), { name: "AbandonedError" }));
  expect([isDefect(decoded), decoded.name]).toEqual([false, "AbandonedError"]);
});
