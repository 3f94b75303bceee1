// Which texts are valid names: people must be able to read and distinguish them.

/** Controls, halves of characters, line ends, and what is written and not seen, or turns the direction of writing. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

export const withoutInvisible = (text: string): string => text.replaceAll(UNSEEN, "");

export const isReadableName = (text: string): boolean => withoutInvisible(text).trim() === text;
