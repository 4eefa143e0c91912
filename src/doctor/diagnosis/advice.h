// What usually helps, in the words of the program that failed, where no config says what would.
#pragma once

#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

// Adds to the notes of a failure of the card's own memory; nothing for other causes.
void add_advice(const FailureEvidence& evidence, Diagnosis& diagnosis);

}  // namespace snug::doctor::diagnosis
