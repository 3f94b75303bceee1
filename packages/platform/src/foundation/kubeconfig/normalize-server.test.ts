import { describe, expect, it } from "vitest";
import { normalizeServer, validateServer } from "./normalize-server.ts";

describe("the server of a kubeconfig", () => {
  it.each([
    ["https://vc.example.com", "https://vc.example.com"],
    ["https://vc.example.com/", "https://vc.example.com"],
    ["https://vc.example.com///", "https://vc.example.com"],
    ["HTTPS://VC.Example.com:8443/A/b/", "https://vc.example.com:8443/A/b"],
    ["vc.example.com", "https://vc.example.com"],
    ["vc.example.com:8443", "https://vc.example.com:8443"],
    ["localhost:8080", "https://localhost:8080"],
    ["http://localhost:8001", "http://localhost:8001"],
    ["https://vc.example.com:443", "https://vc.example.com:443"],
    ["10.0.0.1", "https://10.0.0.1"],
    ["[::1]:6443", "https://[::1]:6443"],
    ["https://x/kubernetes/project/a/virtualcluster/b/", "https://x/kubernetes/project/a/virtualcluster/b"],
    ["https://x/a/../b", "https://x/b"],
    ["https://münchen.example", "https://xn--mnchen-3ya.example"],
  ])("%s becomes %s", (server, expected) => {
    expect(normalizeServer(server)).toBe(expected);
    expect(validateServer(server)).toEqual([]);
  });

  it.each([
    "",
    " ",
    "https://",
    "https:///path",
    "ftp://vc.example.com",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https://user:secret@vc.example.com",
    "https://vc.example.com?x=1",
    "https://vc.example.com#x",
    "https://vc.example.com:99999",
    "https://vc.example.com:port",
    "https://vc example.com",
    "https://vc.example.com\nusers: []",
    "https:\\\\vc.example.com",
    "https://[::1",
    `https://${"a".repeat(3000)}`,
  ])("%j is refused by name", (server) => {
    expect(normalizeServer(server)).toBeUndefined();
    expect(validateServer(server)).toMatchObject([{ type: "FieldValueInvalid", field: "spec.server" }]);
  });

  it("does not repeat a password in the refusal", () => {
    expect(JSON.stringify(validateServer("https://user:secret@vc.example.com"))).not.toContain("secret");
  });
});
