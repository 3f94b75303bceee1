// Adds the texts of recordings, which load with their page.

import recordings from "../../texts/en-recordings.json";
import { addTexts } from "../../texts/text.tsx";

addTexts(recordings);
