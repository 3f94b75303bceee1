import { describe, expect, it } from "vitest";
import { commonRanges, isFromRanges, isWithinRanges, type SourceRanges } from "./source-ranges.ts";

describe("source ranges", () => {
  it.each<readonly [ranges: SourceRanges, address: string, isIn: boolean]>([
    [[], "192.0.2.1", true],
    [[], "", true],
    [["192.0.2.0/24"], "192.0.2.255", true],
    [["192.0.2.0/24"], "192.0.3.0", false],
    [["192.0.2.0/24"], "::ffff:192.0.2.1", true],
    [["192.0.2.1"], "192.0.2.1", true],
    [["192.0.2.1"], "192.0.2.10", false],
    [["2001:db8::/33"], "2001:db8:7fff::1", true],
    [["2001:db8::/33"], "2001:db8:8000::1", false],
    [["0.0.0.0/0"], "2001:db8::1", false],
    [["::/0"], "192.0.2.1", false],
    [["10.0.0.0/8", "2001:db8::1"], "2001:DB8:0::1", true],
    [["0.0.0.0/0", "::/0"], "", false],
    [["0.0.0.0/0", "::/0"], "unix", false],
  ])("%j has %j: %s", (ranges, address, isIn) => expect(isFromRanges(ranges, address)).toBe(isIn));

  it.each<readonly [inner: SourceRanges, outer: SourceRanges, isWithin: boolean]>([
    [["10.0.0.0/8"], [], true],
    [[], [], true],
    [[], ["0.0.0.0/0"], false],
    [["10.1.0.0/16"], ["10.0.0.0/8"], true],
    [["10.0.0.0/8"], ["10.1.0.0/16"], false],
    [["10.1.0.0/16", "2001:db8::1"], ["2001:db8::/32", "10.0.0.0/8"], true],
    [["10.1.0.0/16", "11.0.0.0/8"], ["10.0.0.0/8"], false],
    [["::/0"], ["0.0.0.0/0"], false],
  ])("%j are within %j: %s", (inner, outer, isWithin) => expect(isWithinRanges(inner, outer)).toBe(isWithin));

  it.each<readonly [one: SourceRanges, other: SourceRanges, common: SourceRanges | undefined]>([
    [[], ["10.0.0.0/8"], ["10.0.0.0/8"]],
    [["10.0.0.0/8"], [], ["10.0.0.0/8"]],
    [["10.0.0.0/8"], ["10.1.0.0/16"], ["10.1.0.0/16"]],
    [
      ["10.1.0.0/16", "192.0.2.1"],
      ["10.0.0.0/8", "192.0.2.0/24"],
      ["10.1.0.0/16", "192.0.2.1"],
    ],
    [["10.0.0.0/8"], ["10.0.0.0/8"], ["10.0.0.0/8"]],
    [["10.0.0.0/8"], ["11.0.0.0/8"], undefined],
  ])("%j and %j have %j in common", (one, other, common) => expect(commonRanges(one, other)).toEqual(common));
});
