import { describe, expect, it } from "vitest";
import { isReservedName } from "./claimed-names.ts";

const rule = (clientCAFile: string) => (name: string) =>
  isReservedName(name, { names: { name: "Loft" }, configuration: { frontProxy: { clientCAFile, prefix: "host:" } } });

describe("names that no identity provider gives", () => {
  it.each([
    ["system:masters", true, true],
    [" System:admin", true, true],
    ["loft:admins", true, true],
    ["LOFT:user:jane", true, true],
    ["host:jane", true, false],
    ["\tHost:devs", true, false],
    ["hostile", false, false],
    ["jane", false, false],
  ])("%j: %s where another cluster forwards requests, %s elsewhere", (name, there, elsewhere) => {
    expect([rule("/ca.pem")(name), rule("")(name)]).toEqual([there, elsewhere]);
  });
});
