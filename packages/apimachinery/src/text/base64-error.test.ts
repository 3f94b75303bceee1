// The offsets are those of Go's encoding/base64.

import { expect, it } from "vitest";
import { findBase64Error } from "./base64-error.ts";

it.each<[text: string, at: number | undefined]>([
  ["", undefined],
  ["MQ==", undefined],
  ["M\nQ=\r=\n", undefined],
  ["abc!", 3],
  ["a", 0],
  ["abc", 0],
  ["abcde", 4],
  ["=", 0],
  ["a===", 1],
  ["ab=", 3],
  ["ab=x", 2],
  ["ab==x", 4],
  ["abc=x", 4],
  ["é", 0],
])("finds in %j byte %s", (text, at) =>
  expect(findBase64Error(text)).toBe(at === undefined ? undefined : `illegal base64 data at input byte ${at}`),
);
