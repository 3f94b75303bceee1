// Whatever another cluster says of its users, nothing of it becomes a name of the platform's own.

import { createPlatformNames } from "@postern/api/platform-names";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultConfiguration } from "../../foundation/config/configuration.ts";
import type { Directory, DirectoryUser } from "../directory/directory.ts";
import { frontProxyIdentity, remoteUserOf } from "./front-proxy-identity.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const { frontProxy } = defaultConfiguration("/");
const linked: DirectoryUser = {
  name: "jane",
  uid: "uid-jane",
  subject: "host:jane",
  groups: ["staff", "postern:access-request:1"],
  identities: [],
  displayName: "",
  username: "jane",
  email: "",
  isBot: false,
  locked: false,
};
const directory = {
  userBySubject: (subject: string) => (subject === linked.subject ? linked : undefined),
  teamsOf: () => [{ name: "ops", uid: "", displayName: "", groups: [] }],
} as Partial<Directory> as Directory;
const identityOf = (headers: { readonly [name: string]: string | readonly string[] }) => {
  const remote = remoteUserOf(headers, frontProxy);
  return remote && frontProxyIdentity(remote, { prefix: "host:", directory, names }).user;
};

const OWN = ["system:masters", "postern:admins", "postern:user:jane", "postern:vcluster:p-a:b", "host:jane", ""];
const text = fc.oneof(fc.constantFrom(...OWN), fc.string()).map((value) => Buffer.from(value).toString("latin1"));

describe("the identity of a front proxy's user", () => {
  it("has its prefix before every name, group and attribute", () => {
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), text, (user, groups, value) => {
        const found = identityOf({ "x-remote-user": user, "x-remote-group": groups, "x-remote-extra-a%2fb": value });
        expect(found === undefined).toBe(user === "");
        if (found === undefined) return;
        const given = groups.filter((group) => group !== "");
        expect(found.name).toBe(`host:${Buffer.from(user, "latin1")}`);
        if (found.name === linked.subject) return;
        const expected = given.map((group) => `host:${Buffer.from(group, "latin1")}`);
        expect(found.groups).toEqual([...new Set([...expected, "system:authenticated"])]);
        expect(Object.keys(found.extra ?? {})).toEqual(["host:a/b"]);
      }),
    );
  });

  it("is that of the User with the subject, without access that was granted for a time", () => {
    expect(identityOf({ "x-remote-user": "jane", "x-remote-group": "devs" })).toEqual({
      name: "host:jane",
      uid: "uid-jane",
      extra: {},
      groups: [
        ...["host:devs", "system:authenticated", "postern:authenticated", "staff"],
        ...["postern:user:jane", "postern:team:ops"],
      ],
    });
  });

  it("has every character of a name", () => {
    const name = "\u{feff}admin\u{200b}";
    expect(identityOf({ "x-remote-user": Buffer.from(name).toString("latin1") })?.name).toBe(`host:${name}`);
  });

  it.each([
    [{ "x-remote-user": "system:anonymous" }],
    [{ "x-remote-user": "jane", "x-remote-group": ["system:unauthenticated", "system:masters"] }],
  ])("is anonymous for %j", (headers) => {
    expect(identityOf(headers)).toEqual({ name: "system:anonymous", groups: ["system:unauthenticated"] });
  });

  it.each([
    ["two names", { "x-remote-user": ["a", "b"] }],
    ["a name that is no UTF-8", { "x-remote-user": "a\xff" }],
    ["a group that is no UTF-8", { "x-remote-user": "a", "x-remote-group": "\xc3\x28" }],
  ])("is refused for %s", (_name, headers) => {
    expect(() => identityOf(headers)).toThrow(ApiError);
  });

  it("takes the first header with a name, and reads no uid", () => {
    const settings = { ...frontProxy, usernameHeaders: ["X-Remote-Login", "X-Remote-User"] };
    const headers = { "x-remote-login": "", "x-remote-user": "carol", "x-remote-uid": "uid-of-another" };
    expect(remoteUserOf(headers, settings)).toEqual({ name: "carol", groups: [], extra: {} });
  });
});
