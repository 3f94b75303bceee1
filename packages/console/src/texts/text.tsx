// Texts by their IDs. All of them are in en.json, or in a file that comes with its page, so that they can be translated. `{name}` in a text is a placeholder.

import type { ReactNode } from "react";
import en from "./en.json";
import type access from "./en-access.json";
import type generators from "./en-generators.json";
import type recordings from "./en-recordings.json";
import type trust from "./en-trust.json";

type AnyId =
  | keyof typeof en
  | keyof typeof access
  | keyof typeof generators
  | keyof typeof recordings
  | keyof typeof trust;
/** The ID of a text that depends on a number: it has the forms `<name>.one` and `<name>.other`. */
export type CountId = AnyId extends infer Id ? (Id extends `${infer Base}.other` ? Base : never) : never;
export type TextId = Exclude<AnyId, `${CountId}.one` | `${CountId}.other`>;

type Values = { readonly [name: string]: string | number };

const texts: { [id: string]: string } = { ...en };
/** The language of the texts, for numbers and times: `en`. */
export const language: string = en.language;
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** Adds the texts of one page, before it is shown: the first page does not load them. */
export function addTexts(more: { readonly [id: string]: string }): void {
  Object.assign(texts, more);
}

export const numberText = (value: number): string => numbers.format(value);

/** Characters that turn the direction of what follows them, beyond the end of a value. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** A value of others, for a text that goes on after it. */
export const settled = (value: string): string => value.replaceAll(TURNING, "");

const written = (value: string | number): string => (typeof value === "number" ? numberText(value) : settled(value));

const fill = (text: string, values: Values): string =>
  text.replaceAll(/\{(\w{1,32})\}/g, (whole, name: string) => written(values[name] ?? whole));

export const t = (id: TextId, values: Values = {}): string => fill(texts[id] ?? id, values);

/** The form of a text for a number, which replaces `{count}`. */
export const counted = (id: CountId, count: number, values: Values = {}): string =>
  fill(texts[`${id}.${plurals.select(count)}`] ?? texts[`${id}.other`] ?? id, { ...values, count });

/** The text for a name of the server, such as a reason, or the name itself if there is none. */
export const named = (prefix: string, name: string): string => texts[`${prefix}.${name}`] ?? name;

/** Messages of the server begin in lower case and have no full stop, because they follow a colon elsewhere. */
export const sentence = (message: string): string => {
  const text = settled(message);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
};

/** A text with elements in it. Its parts are elements too, so that none of the others turns their direction. */
export function Text({ id, values }: { readonly id: TextId; readonly values: { readonly [name: string]: ReactNode } }) {
  const parts = (texts[id] ?? id).split(/(\{\w{1,32}\})/);
  return parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text stay in their order
    <span key={at}>{/^\{.*\}$/.test(part) ? (values[part.slice(1, -1)] ?? part) : part}</span>
  ));
}
