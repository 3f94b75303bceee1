import { isApiError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import { createOptionsOf, deleteOptionsOf, listOptionsOf, patchOptionsOf } from "./query-options.ts";
import { optionalQueryInteger, queryBoolean } from "./query-values.ts";

const query = (text: string) => new URLSearchParams(text);

describe("queryBoolean", () => {
  it.each([
    ["", false],
    ["watch=false", false],
    ["watch=FALSE", false],
    ["watch=0", false],
    ["watch=true", true],
    ["watch=1", true],
    ["watch=maybe", true],
    ["watch=", true],
    ["watch", true],
    ["watch=0&watch=1", false],
  ])("reads %j as %j", (text, expected) => {
    expect(queryBoolean(query(text), "watch")).toBe(expected);
  });
});

describe("optionalQueryInteger", () => {
  it.each([
    ["", undefined],
    ["limit=500", 500],
    ["limit=%2B5", 5],
    ["limit=-1", -1],
    ["limit=1&limit=2", 1],
  ])("reads %j as %j", (text, expected) => {
    expect(optionalQueryInteger(query(text), "limit")).toBe(expected);
  });

  it.each([
    ["x", 'strconv.ParseInt: parsing "x": invalid syntax'],
    ["", 'strconv.ParseInt: parsing "": invalid syntax'],
    ["1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ["9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
  ])("refuses %j with Go's text", (value, message) => {
    try {
      optionalQueryInteger(query(`limit=${value}`), "limit");
      expect.unreachable();
    } catch (error) {
      expect(isApiError(error, "BadRequest") && error.message).toBe(message);
    }
  });
});

describe("options", () => {
  it("leaves out what the query does not say", () => {
    expect(listOptionsOf(query("pretty=true"))).toEqual({});
    expect(createOptionsOf(query(""))).toEqual({});
    expect(deleteOptionsOf(query(""))).toEqual({});
  });

  it("reads a list", () => {
    expect(listOptionsOf(query("limit=5&continue=t&resourceVersion=7&sendInitialEvents=false"))).toEqual({
      limit: 5,
      continue: "t",
      resourceVersion: "7",
      sendInitialEvents: false,
    });
  });

  it("keeps every dryRun value, and force as given", () => {
    expect(patchOptionsOf(query("dryRun=All&dryRun=x&force=0&fieldManager=m"))).toEqual({
      dryRun: ["All", "x"],
      force: false,
      fieldManager: "m",
    });
  });

  it("reads the options of a deletion", () => {
    expect(deleteOptionsOf(query("gracePeriodSeconds=0&propagationPolicy=Orphan&uid=u"))).toEqual({
      gracePeriodSeconds: 0,
      propagationPolicy: "Orphan",
      preconditions: { uid: "u" },
    });
  });
});
