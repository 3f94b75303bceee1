import { isApiError } from "@postern/apimachinery/meta/api-error";
import { safeRequestUri } from "@postern/apimachinery/text/safe-request-uri";
import { describe, expect, it } from "vitest";
import { bearerTokenOf, presentedToken, webSocketProtocols } from "./credentials.ts";

const upgrade = { protocol: "websocket", accept: () => expect.unreachable() };
const bearerProtocol = (token: string | Buffer) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;

describe("bearerTokenOf", () => {
  it.each([
    [undefined, { type: "none" }],
    ["", { type: "none" }],
    [" ", { type: "none" }],
    ["Bearer", { type: "none" }],
    ["Bearer ", { type: "none" }],
    ["Basic YTpi", { type: "none" }],
    ["Token t", { type: "none" }],
    ["Bearertoken", { type: "none" }],
    ["Bearer t", { type: "token", token: "t" }],
    ["bearer t", { type: "token", token: "t" }],
    ["BEARER t", { type: "token", token: "t" }],
    ["Bearer t, Bearer u", { type: "token", token: "t," }],
    ["Bearer  t", { type: "extra-space" }],
    [["Bearer t", "Bearer u"], { type: "invalid" }],
  ])("Authorization %j gives %j (security book 19)", (authorization, expected) => {
    expect(bearerTokenOf({ headers: authorization === undefined ? {} : { authorization } })).toEqual(expected);
  });

  it.each([
    [`${bearerProtocol("t")}, v4.channel.k8s.io`, { type: "token", token: "t" }],
    [`binary.k8s.io,${bearerProtocol("ü")}`, { type: "token", token: "ü" }],
    [bearerProtocol("t"), { type: "invalid" }],
    [`${bearerProtocol("t")}, ${bearerProtocol("u")}, x`, { type: "invalid" }],
    ["base64url.bearer.authorization.k8s.io., x", { type: "invalid" }],
    ["base64url.bearer.authorization.k8s.io.a=, x", { type: "invalid" }],
    [`${bearerProtocol(Buffer.from([0xff]))}, x`, { type: "invalid" }],
    ["v4.channel.k8s.io", { type: "none" }],
  ])("reads the subprotocols %j as %j", (protocols, expected) => {
    expect(bearerTokenOf({ headers: { "sec-websocket-protocol": protocols }, upgrade })).toEqual(expected);
  });

  it("looks at subprotocols only where the connection becomes a WebSocket", () => {
    const headers = { "sec-websocket-protocol": `${bearerProtocol("t")}, x` };
    expect(bearerTokenOf({ headers })).toEqual({ type: "none" });
  });
});

describe("presentedToken", () => {
  it("answers 400 to a token in both places and 401 to one that is malformed", () => {
    const both = { authorization: "Bearer t", "sec-websocket-protocol": `${bearerProtocol("t")}, x` };
    expect(codeOf(() => presentedToken({ headers: both, upgrade }))).toBe(400);
    expect(codeOf(() => presentedToken({ headers: { authorization: ["a", "b"] } }))).toBe(401);
  });

  it("leaves the other subprotocols to be answered", () => {
    expect(webSocketProtocols({ headers: { "sec-websocket-protocol": `${bearerProtocol("t")}, x` } })).toEqual(["x"]);
  });
});

const KEY = "pst_abcdefgh23_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6";

describe("safeRequestUri", () => {
  it.each([
    ["/api/v1/pods", "/api/v1/pods"],
    ["/api/v1/pods?watch&limit=5", "/api/v1/pods?watch&limit=5"],
    ["/x?access_token=s3cret&timeout=1s", "/x?access_token=REDACTED&timeout=1s"],
    ["/x?s3cret", "/x?REDACTED"],
    ["/x?%77atch=s3cret", "/x?%77atch=REDACTED"],
    [`/keys/${KEY}`, "/keys/pst_abcdefgh23_<redacted>"],
    [`/keys?labelSelector=a%3D${KEY}`, "/keys?labelSelector=a%3Dpst_abcdefgh23_<redacted>"],
  ])("shows %j as %j", (uri, expected) => {
    expect(safeRequestUri(uri)).toBe(expected);
  });
});

function codeOf(run: () => unknown): number {
  try {
    run();
    return 0;
  } catch (error) {
    return isApiError(error) ? error.code : -1;
  }
}
