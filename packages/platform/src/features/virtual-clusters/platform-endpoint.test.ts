import { expect, it } from "vitest";
import { apiAddressOf } from "./platform-endpoint.ts";

it.each([
  ["https://203.0.113.7:8443", { ip: "203.0.113.7", port: 8443 }],
  ["https://203.0.113.7", { ip: "203.0.113.7", port: 443 }],
  ["https://[2001:db8::7]:8443", { ip: "2001:db8::7", port: 8443 }],
  ["https://postern.example.com:8443", undefined],
  ["https://127.0.0.1:8443", undefined],
  ["https://[::1]:8443", undefined],
  ["https://0.0.0.0:8443", undefined],
  ["https://169.254.169.254", undefined],
  ["https://[fe80::1]", undefined],
  ["", undefined],
])("takes of %s the address %j", (url, expected) => {
  expect(apiAddressOf(url)).toEqual(expected);
});
