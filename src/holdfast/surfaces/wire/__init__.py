"""The words of the vocabularies as other programs send and get them: fields of calls, shapes of answers, one table."""
