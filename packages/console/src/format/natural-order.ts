// The order in which people look for names: "Fraud 9" comes before "Fraud 49".

import { language } from "../texts/text.tsx";

const collator = new Intl.Collator(language, { numeric: true });

/** For `sort`. */
export const inNaturalOrder: (one: string, other: string) => number = collator.compare;
