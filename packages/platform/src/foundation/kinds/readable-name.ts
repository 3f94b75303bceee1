// Which texts are valid names: people must be able to read and distinguish them.

/** Control characters, lone surrogates, line ends, invisible characters, and those that change the direction of writing. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

export const withoutInvisible = (text: string): string => text.replaceAll(UNSEEN, "");

export const isReadableName = (text: string): boolean => withoutInvisible(text).trim() === text;
