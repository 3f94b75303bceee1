import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DerError,
  derInteger,
  derNamedBits,
  derObjectIdentifier,
  derOctetString,
  derSequence,
  derTime,
  readDerElements,
  readObjectIdentifier,
  readWholeDerElement,
} from "./der.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("DER", () => {
  it.each([
    ["zero", derInteger(Uint8Array.of(0)), "020100"],
    ["no octets", derInteger(new Uint8Array(0)), "020100"],
    ["a high bit", derInteger(Uint8Array.of(0x80)), "02020080"],
    ["leading zeros", derInteger(Uint8Array.of(0, 0, 1)), "020101"],
    ["named bits", derNamedBits([5, 6]), "03020106"],
    ["named bits over an octet", derNamedBits([0, 8]), "0303078080"],
    ["an object identifier", derObjectIdentifier("1.2.840.113549"), "06062a864886f70d"],
    ["a long length", derOctetString(new Uint8Array(200)).subarray(0, 3), "0481c8"],
    [
      "UTCTime",
      derTime(Date.UTC(2049, 11, 31, 23, 59, 59, 999)),
      `170d${Buffer.from("491231235959Z").toString("hex")}`,
    ],
    ["GeneralizedTime", derTime(Date.UTC(2050, 0, 1)), `180f${Buffer.from("20500101000000Z").toString("hex")}`],
  ])("writes %s", (_, bytes, expected) => {
    expect(hex(bytes)).toBe(expected);
  });

  it("reads what it writes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 70_000 }), { maxLength: 4 }), (values) => {
        const read = readDerElements(readWholeDerElement(derSequence(...values.map(derOctetString))).content);
        expect(read.map(({ content }) => hex(content))).toEqual(values.map(hex));
      }),
      { numRuns: 30 },
    );
  });

  it.each(["1.2.840.10045.4.3.2", "2.5.29.17", "1.3.101.112"])("reads object identifier %s back", (oid) => {
    expect(readObjectIdentifier(readWholeDerElement(derObjectIdentifier(oid)))).toBe(oid);
  });

  it.each([
    ["nothing", ""],
    ["a missing length", "30"],
    ["a long tag", "1f8101"],
    ["an indefinite length", "30800000"],
    ["a length that is not minimal", "308101ff"],
    ["a length padded with zero", "30820001ff"],
    ["a length beyond the end", "3005ff"],
    ["a length of four octets", "308400000001ff"],
    ["bytes after the end", "300000"],
  ])("refuses %s", (_, text) => {
    expect(() => readWholeDerElement(Buffer.from(text, "hex"))).toThrow(DerError);
  });
});
