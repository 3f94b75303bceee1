import { describe, expect, it } from "vitest";
import { findStringFormat } from "./string-formats.ts";

describe("string formats", () => {
  it.each<[string, string[], string[]]>([
    ["byte", ["aGk=", "", "AAAA"], ["a", "aGk", "a b="]],
    ["cidr", ["10.0.0.0/8", "fd00::/8", "::/0"], ["10.0.0.0", "10.0.0.0/33", "::/129", "x/8"]],
    ["creditcard", ["4111 1111 1111 1111"], ["4111111111111112", "1"]],
    ["date", ["2024-02-29"], ["2023-02-29", "2024-13-01", "24-1-1"]],
    [
      "date-time",
      ["2024-01-01T00:00:00Z", "2024-01-01t10:00:00.5+02:00"],
      ["bad", "2024-01-01", "2024-01-01T24:00:00Z", "2024-01-32T00:00:00Z"],
    ],
    ["datetime", ["2024-01-01T00:00:00Z"], ["x"]],
    ["duration", ["1h", "1h30m", "1.5s", "0", "22 ns", "3 days"], ["bad", "1", ""]],
    ["email", ["a@b.c", "Ada <a@example.com>"], ["a", "a@", "@b", "a@b c", "a..b@c.d"]],
    ["hexcolor", ["#fff", "FFFFFF"], ["#ff", "ggg"]],
    ["hostname", ["example.com", "a", "1.example"], ["-a", "a..b", "a_b", `${"a".repeat(64)}.b`]],
    ["ipv4", ["10.0.0.1"], ["10.0.0.256", "10.0.0", "01.0.0.1", "::1"]],
    [
      "ipv6",
      ["::1", "fd00::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
      ["1::2::3", ":1", "1:2:3", "::12345", "10.0.0.1"],
    ],
    ["isbn10", ["0321751043"], ["0321751044"]],
    ["isbn", ["0321751043", "978-0321751041"], ["1"]],
    ["isbn13", ["978-0321751041"], ["978-0321751042"]],
    ["mac", ["01:23:45:67:89:ab", "0123.4567.89ab"], ["01:23:45", "zz:23:45:67:89:ab"]],
    ["password", ["anything"], []],
    ["quantity", ["10Gi", "1.5", "100m", "1e3"], ["Gi", "1 Gi"]],
    ["rgbcolor", ["rgb(0,128,255)"], ["rgb(256,0,0)", "red"]],
    ["ssn", ["123-45-6789"], ["123-456-789"]],
    ["uri", ["https://example.com/a?b", "/path", "mailto:a@b"], ["bad", "", "http://a b/", "http://a/%zz"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], ["bad"]],
    ["uuid4", ["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-12d3-a456-426614174000"]],
  ])("%s", (name, valid, invalid) => {
    const format = findStringFormat(name);
    expect(valid.filter((text) => format?.(text) !== true)).toEqual([]);
    expect(invalid.filter((text) => format?.(text) !== false)).toEqual([]);
  });

  it.each(["int32", "unknown", ""])("%j checks nothing", (name) => {
    expect(findStringFormat(name)).toBeUndefined();
  });
});
