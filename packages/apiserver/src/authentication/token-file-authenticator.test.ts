import { describe, expect, it } from "vitest";
import { createBearerTokenAuthenticator } from "./bearer-token-authenticator.ts";
import { parseServiceAccountUsername, serviceAccountUsername } from "./service-account.ts";
import { headerlessRequest } from "./testing/headerless-request.ts";
import { unionTokenAuthenticator } from "./token-authenticator.ts";
import { createTokenFileAuthenticator } from "./token-file-authenticator.ts";

const FILE = `t1,alice,u1\r\n\n"t,2","b""ob",,"devs,ops"\nt1,alice2,u2,devs\n,nobody,u3\n`;

describe("createTokenFileAuthenticator", () => {
  const tokens = createTokenFileAuthenticator(FILE);

  it.each([
    ["t1", { name: "alice2", uid: "u2", groups: ["devs"] }],
    ["t,2", { name: 'b"ob', groups: ["devs", "ops"] }],
    ["", undefined],
    ["T1", undefined],
    ["__proto__", undefined],
  ])("finds the owner of %j", async (token, user) => {
    expect((await tokens.authenticateToken(token))?.user).toEqual(user);
  });

  it("refuses a file with too few columns or an open quote", () => {
    expect(() => createTokenFileAuthenticator("t,u\n")).toThrow(/at least 3 columns.*record 1 has 2/);
    expect(() => createTokenFileAuthenticator('t,"u,1\n')).toThrow(/not closed/);
  });
});

describe("createBearerTokenAuthenticator", () => {
  const authenticator = createBearerTokenAuthenticator(
    unionTokenAuthenticator([createTokenFileAuthenticator("a,al,1"), createTokenFileAuthenticator("b,bo,2")]),
  );
  const present = (headers: { readonly authorization?: string }) =>
    authenticator.authenticate(headerlessRequest({ headers }));

  it("asks each token authenticator, and leaves an unknown token and a request without one to others", async () => {
    expect((await present({ authorization: "Bearer b" }))?.user.name).toBe("bo");
    expect(await present({ authorization: "Bearer c" })).toBe(undefined);
    expect(await present({})).toBe(undefined);
  });
});

describe("service account user names", () => {
  it("are read back only in their exact form", () => {
    expect(parseServiceAccountUsername(serviceAccountUsername("ns", "robot"))).toEqual({
      namespace: "ns",
      name: "robot",
    });
    for (const name of [
      "robot",
      "system:serviceaccount:ns",
      "system:serviceaccount:ns:a:b",
      "system:serviceaccount::a",
    ]) {
      expect(parseServiceAccountUsername(name)).toBe(undefined);
    }
  });
});
